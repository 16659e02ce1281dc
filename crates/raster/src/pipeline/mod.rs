//! Runs plans. Written once, for every engine.

mod read;

pub(crate) use read::run;
