//! The encoders whose bytes are the same on every engine, as `portable/spec.md` of the engine crate says.
//!
//! `matches` looks for matches and chooses among them, `huffman` makes codes and `bits` writes them, for the codecs on top
//! of them: `deflate`, with its `deflate_header`; `zstd`, with its literals, sequences and FSE tables.

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
