//! JPEG streams of Huffman codes (ITU-T T.81), whole or abbreviated as TIFF has them.
