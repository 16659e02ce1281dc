//! The CPU engine: codecs, predictors, placement.

pub mod codec;
