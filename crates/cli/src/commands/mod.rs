//! One file per command.

pub mod cog;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod convert_many;
pub mod demo;
pub mod devices;
pub mod dump;
pub mod index;
pub mod info;
pub mod overview;
pub mod sample;
#[cfg(feature = "serve")]
pub mod serve;
pub mod uploads;
pub mod vrt;
pub mod warp;
