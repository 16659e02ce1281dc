//! JPEG streams of Huffman codes (ITU-T T.81), whole or abbreviated as TIFF has them.
//!
//! `headers` the marker segments, `tables` what is in those that hold tables, `coded_data` where the entropy-coded bytes
//! are, `picture` all of a sequential picture that a decoder needs.

pub mod coded_data;
mod headers;
mod picture;
mod tables;

pub use headers::{
    Colours, Component, DHT, DQT, DRI, EOI, Frame, SOS, Segment, check_inks, check_scans, complete, frame,
    segment_at, segments,
};
pub use picture::{Plane, Scan, ScanData, ScanPart, SequentialJpeg, parse};
pub use tables::{
    Class, HuffmanCode, HuffmanTable, HuffmanTables, Quantisation, ZIGZAG, huffman_tables,
    quantisation_tables,
};
