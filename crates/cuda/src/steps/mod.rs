//! Steps over pixels on the device.
//!
//! `find` looks for a value, `mask` sets missing pixels, `blend` blends layers of a mosaic, `resample` changes the size
//! of windows, `warp` puts them onto a grid, `finish` changes samples and turns images; `step` is their common code.

pub mod blend;
pub mod find;
pub mod finish;
pub mod mask;
pub mod resample;
mod step;
pub mod warp;
