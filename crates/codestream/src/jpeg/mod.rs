//! JPEG streams with Huffman codes (ITU-T T.81), complete or abbreviated as in TIFF.
//!
//! `headers` marker segments, `tables` the contents of table segments, `coded_data` the entropy-coded bytes, `picture`
//! everything about a sequential picture that a decoder needs.

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
