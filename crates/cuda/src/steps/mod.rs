//! Steps over pixels that are on the device.
//!
//! `find` looks for a value, `mask` leaves pixels out, `blend` lays layers of a mosaic upon each other, `resample` makes windows
//! another size, `warp` puts them onto a grid, `finish` changes samples and turns images; `step` what each of them does the same.

pub mod blend;
pub mod find;
pub mod finish;
pub mod mask;
pub mod resample;
mod step;
pub mod warp;
