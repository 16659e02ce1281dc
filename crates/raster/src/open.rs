//! Drives the parser over a source and finds the files beside a file.

use crate::error::{Error, Result};
use crate::source::{Source, read_ranges};
use std::path::PathBuf;
use std::sync::Arc;
use strile_tiff::{Limits, Parser, Step, Tiff, TiffError};

/// What can be chosen when opening.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Limits on the structure of the file.
    pub limits: Limits,
    /// Look for `.ovr`, `.msk`, `.aux.xml` and world files beside the file.
    pub sidecars: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { limits: Limits::default(), sidecars: true }
    }
}

/// An opened source and its structure.
pub(crate) struct OpenFile {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) tiff: Tiff,
}

impl OpenFile {
    pub(crate) fn open(source: Arc<dyn Source>, limits: &Limits) -> Result<Self> {
        let wrong = |error: TiffError| Error::File { file: source.name().to_owned(), error };
        if source.len() == 0 {
            let problem = TiffError::Invalid { place: "header".into(), problem: "the file is empty".into() };
            return Err(wrong(problem));
        }
        let mut parser = Parser::new(source.len(), limits.clone());
        loop {
            match parser.next().map_err(wrong)? {
                Step::Done(tiff) => return Ok(Self { source, tiff }),
                Step::Need(ranges) => {
                    let read =
                        read_ranges(source.as_ref(), &ranges).map_err(|error| io_error(&*source, error))?;
                    for (range, bytes) in ranges.iter().zip(read) {
                        parser.feed(range.start, bytes);
                    }
                }
            }
        }
    }
}

pub(crate) fn io_error(source: &dyn Source, error: std::io::Error) -> Error {
    Error::Io { path: PathBuf::from(source.name()), error: Arc::new(error) }
}
