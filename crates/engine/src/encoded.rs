//! Where an engine finds the encoded bytes of a job.

use crate::{Arena, Span};
use std::io;
use std::sync::Arc;

/// Bytes that any thread can have at once and cheaply: a local file, memory.
pub trait ReadAt: Send + Sync {
    /// The bytes of `span`: the source's own where it has them, else read into `scratch`.
    ///
    /// A source that cannot give all of them returns `UnexpectedEof`.
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]>;
}

/// The encoded bytes of a job.
pub enum Encoded {
    /// Fetched before: spans are offsets into this one arena.
    Staged(Arena),
    /// Pulled by the threads that decode: spans are offsets into the source a task names.
    Pulled(Vec<Arc<dyn ReadAt>>),
}
