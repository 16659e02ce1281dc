//! What a file holds: pages, levels, stored fields; and how functions take a file or a mosaic.

pub use crate::fields::StoredField;
pub use crate::input::{AsInput, InputRef};
pub use crate::pages::{Level, Page};
