//! Errors, and their kinds that a program can act on.

pub use strile_tiff::InvalidValue;

use std::path::PathBuf;
use std::sync::Arc;
use strile_engine::memory::NoMemory;
use strile_engine::{BudgetError, EngineError, LocatedFault, Location, OutputError};
use strile_tiff::{DataType, TiffError};
use thiserror::Error;

/// Faulty blocks of one of several files.
#[derive(Debug, Clone)]
pub struct FaultyFile {
    /// The file.
    pub file: String,
    /// The lowest faulty block.
    pub first: LocatedFault,
    /// Number of faulty blocks of the file.
    pub count: usize,
}

/// Any failure of strile. [`Error::kind`] tells a program how to react; the text is for people.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the system failed.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: Arc<std::io::Error>,
    },
    /// The file is invalid, unsupported, or exceeds a structural limit.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// The problem.
        #[source]
        error: TiffError,
    },
    /// The engine does not decode this image.
    #[error("{file}: {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The file does not contain what was requested.
    #[error("{file}: {problem}")]
    Request {
        /// The file.
        file: String,
        /// The request, and what the file contains.
        problem: String,
    },
    /// The file requires implausibly much, or more than the caller allows.
    #[error("{file}: {problem}")]
    Limit {
        /// The file.
        file: String,
        /// The limit.
        limited: Limited,
        /// The quantity that is too large, and the option that raises the limit.
        problem: String,
    },
    /// The file contains a statement that cannot be used.
    #[error("{file}: {problem}")]
    Misstated {
        /// The file.
        file: String,
        /// The subject of the statement.
        what: Misstated,
        /// The problem.
        problem: String,
    },
    /// The requested device cannot be used for this.
    #[error("{file}: {problem}")]
    Device {
        /// The file.
        file: String,
        /// The device, and why it cannot be used.
        problem: String,
    },
    /// The memory limit would be exceeded.
    #[error("{error}; raise `{}`, or read a window", limit_of(error))]
    Memory {
        /// Need, limit and purpose.
        #[from]
        error: BudgetError,
    },
    /// The system is out of memory, although the limit was not reached.
    #[error("{error}; read a window, or allow this process more memory")]
    NoMemory {
        /// Size and purpose of the memory.
        #[from]
        error: NoMemory,
    },
    /// Blocks could not be decoded.
    #[error("{file}: {first}{}", others(*.count))]
    Blocks {
        /// The file.
        file: String,
        /// The lowest faulty block.
        first: LocatedFault,
        /// Total number of faulty blocks.
        count: usize,
        /// Further files with faulty blocks, if several are read together.
        also: Box<[FaultyFile]>,
    },
    /// An error of one window of a batch.
    #[error("window {window} ({area}): {error}")]
    Window {
        /// Number of the window in the batch, from 0.
        window: usize,
        /// Pixels of the window, in words.
        area: String,
        /// The error.
        #[source]
        error: Box<Error>,
    },
    /// The operation was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The samples have another type than the requested one.
    #[error("expected samples of type {expected}, got {found}")]
    SampleType {
        /// The requested type.
        expected: DataType,
        /// The type of the samples.
        found: DataType,
    },
    /// The pixels are in GPU memory, but host memory was requested.
    #[error("expected pixels in host memory, got pixels in {location}; copy them with `into_host`")]
    OnDevice {
        /// Location of the pixels.
        location: Location,
    },
    /// The engine failed as a whole.
    #[error("{0}")]
    Engine(#[source] EngineError),
}

/// How a program can react to an [`enum@Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An operation of the system failed: a missing file, a full disk, a broken connection.
    Io,
    /// The file is not a TIFF, or its structure is broken.
    InvalidFile,
    /// The file is valid, but strile does not read or write this kind.
    Unsupported,
    /// The call requests what the file does not have, or contradicts itself.
    InvalidRequest,
    /// A limit that protects against hostile files was reached. Options raise it.
    Limit,
    /// The memory limit of the call was reached, or the system is out of memory.
    Memory,
    /// The requested device cannot be used.
    Device,
    /// Blocks of the file are damaged. `OnFault::Fill` reads the rest.
    Damaged,
    /// The operation was cancelled.
    Cancelled,
    /// strile or the driver failed.
    Internal,
}

/// The subject of a statement of a file that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misstated {
    /// A transform with rotation or shear.
    Rotation,
    /// The size of its pixels.
    PixelSize,
    /// An orientation or tie points that no transform of rows and columns can express.
    Layout,
    /// Scale and offset.
    Scaling,
    /// Scale and offset that differ from band to band.
    Bands,
    /// The text of its reference system.
    CrsText,
    /// GeoKeys that contradict each other.
    GeoKeys,
}

/// The quantity that a limit of a read counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Samples of the result or of a block: `ReadOptions::max_pixels`.
    Pixels,
    /// Bytes fetched from a remote source: `ReadOptions::max_cloud_bytes`.
    Fetched,
}

impl Error {
    /// Returns how a program can react to the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } => ErrorKind::Io,
            Self::File { error, .. } => of_structure(error),
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Request { .. } | Self::SampleType { .. } | Self::OnDevice { .. } => {
                ErrorKind::InvalidRequest
            }
            Self::Limit { .. } => ErrorKind::Limit,
            Self::Misstated { what: Misstated::Rotation | Misstated::Layout, .. } => ErrorKind::Unsupported,
            Self::Misstated { .. } => ErrorKind::InvalidFile,
            Self::Device { .. } => ErrorKind::Device,
            Self::Memory { .. } | Self::NoMemory { .. } => ErrorKind::Memory,
            Self::Blocks { .. } => ErrorKind::Damaged,
            Self::Window { error, .. } => error.kind(),
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Engine(_) => ErrorKind::Internal,
        }
    }

    /// Returns a system error about a file.
    pub(crate) fn io(path: impl Into<PathBuf>, error: std::io::Error) -> Self {
        Self::Io { path: path.into(), error: Arc::new(error) }
    }

    /// Returns the error of an output that cannot be made: out of memory, or because of its shape, which `refuse`
    /// reports.
    pub(crate) fn output(error: OutputError, refuse: impl FnOnce(String) -> Self) -> Self {
        match error {
            OutputError::NoMemory(error) => Self::NoMemory { error },
            error => refuse(error.to_string()),
        }
    }
}

/// Returns the option that raises the limit. A device's budget is recognised by its purposes, which end with "on the
/// device".
fn limit_of(error: &BudgetError) -> &'static str {
    match error.purpose.ends_with("on the device") {
        true => "device_memory",
        false => "memory",
    }
}

fn of_structure(error: &TiffError) -> ErrorKind {
    match error {
        TiffError::Invalid { .. } => ErrorKind::InvalidFile,
        TiffError::Unsupported { .. } => ErrorKind::Unsupported,
        TiffError::Limit { .. } => ErrorKind::Limit,
    }
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => " (and 1 other block is faulty)".into(),
        n => format!(" (and {} other blocks are faulty)", n - 1),
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Cancelled => Self::Cancelled,
            EngineError::Budget(error) => Self::Memory { error },
            EngineError::NoMemory(error) => Self::NoMemory { error },
            other => Self::Engine(other),
        }
    }
}

/// The result of strile's calls.
pub type Result<T> = std::result::Result<T, Error>;
