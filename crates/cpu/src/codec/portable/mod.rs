//! Encoders whose output is the same on every engine, by `portable/spec.md` of the engine crate.
//!
//! `matches` searches for matches and chooses among them, `huffman` makes codes and `bits` writes them. The codecs
//! build on these: `deflate` with its `deflate_header`; `zstd` with its literals, sequences and FSE tables.

mod bits;
pub(super) mod deflate;
mod deflate_header;
mod huffman;
pub(super) mod lz4;
pub(super) mod lzw;
pub(super) mod matches;
pub(super) mod zstd;
mod zstd_fse;
mod zstd_literals;
mod zstd_sequences;
