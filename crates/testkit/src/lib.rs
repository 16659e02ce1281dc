//! Dev-only: files made in memory and their expected contents.
//!
//! `pixels` rasters; `image` an image by its properties; `builder` and `tag` directories and bytes, also invalid ones;
//! `pack` and `encode` blocks; `fixtures` the files that every engine must read; `corpus` the conformance corpus, if
//! available; `digest` SHA-256; `mutate` damaged files; `hostile` small files that request much; `allocator` counts
//! memory, `child` that of a program; `server` serves files by ranges, with faults.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "dev-only: a wrong fixture should stop the test"
)]

pub mod allocator;
mod builder;
#[cfg(target_os = "linux")]
pub mod child;
mod corpus;
mod digest;
mod encode;
mod fixtures;
pub mod hostile;
mod image;
mod mutate;
mod pack;
mod pixels;
mod server;
mod tag;

pub use builder::{Built, BuiltBlock, Directory, FileOrder, TiffBuilder};
pub use corpus::{Accept, AcceptPixels, Corpus, Expect, Hostile, Mask, Overview, Record};
pub use digest::sha256;
pub use encode::{Codec, JpegOptions};
pub use fixtures::{Fixture, Tolerance, fixtures};
pub use image::{FileFrame, Grid, ImageSpec, geo_tags, metadata_tag, nodata_tag};
pub use mutate::{Target, mutate, mutate_bytes};
pub use pack::BlockPixels;
pub use pixels::{Pattern, Pixels, Random, to_f64};
pub use server::{Counts, Fault, RangeServer};
pub use tag::{Tag, Value};
