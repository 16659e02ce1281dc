//! The kernels built in, written by `cargo xtask kernels`.

use crate::module::Image;

/// Every image, a module's after the other.
pub(crate) const IMAGES: &[Image] = &[];
