//! What can go wrong, in kinds a user can act on.

pub use strile_tiff::InvalidValue;

use std::path::PathBuf;
use std::sync::Arc;
use strile_engine::memory::NoMemory;
use strile_engine::{BudgetError, EngineError, LocatedFault, Location, OutputError};
use strile_tiff::{DataType, TiffError};
use thiserror::Error;

/// Faulty blocks of one of many files.
#[derive(Debug, Clone)]
pub struct FaultyFile {
    /// The file.
    pub file: String,
    /// The lowest faulty block.
    pub first: LocatedFault,
    /// How many of its blocks are faulty.
    pub count: usize,
}

/// Any failure of strile. [`Error::kind`] says what a program can do about it; the text is for people.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused or failed.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: Arc<std::io::Error>,
    },
    /// The file is wrong, unsupported, or over a limit of its structure.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        #[source]
        error: TiffError,
    },
    /// The engine does not decode this image.
    #[error("{file}: {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// What was asked for is not in the file.
    #[error("{file}: {problem}")]
    Request {
        /// The file.
        file: String,
        /// What was asked for, and what there is.
        problem: String,
    },
    /// The file asks for implausibly much, or for more than the caller allows.
    #[error("{file}: {problem}")]
    Limit {
        /// The file.
        file: String,
        /// Which limit.
        limited: Limited,
        /// What is too large, and which option raises the limit.
        problem: String,
    },
    /// The file states something that cannot be used as it is.
    #[error("{file}: {problem}")]
    Misstated {
        /// The file.
        file: String,
        /// What the statement is about.
        what: Misstated,
        /// What is wrong with it.
        problem: String,
    },
    /// The device that was asked for cannot be used, or not so.
    #[error("{file}: {problem}")]
    Device {
        /// The file.
        file: String,
        /// Which device, and why not.
        problem: String,
    },
    /// Memory for it would pass the limit.
    #[error("{error}; raise `{}`, or read a window", limit_of(error))]
    Memory {
        /// Need, limit and purpose.
        #[from]
        error: BudgetError,
    },
    /// The system has no memory, though the limit had room.
    #[error("{error}; read a window, or allow this process more memory")]
    NoMemory {
        /// How much, and what for.
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
        /// How many are faulty in all.
        count: usize,
        /// Further files with faulty blocks, where many are read together.
        also: Box<[FaultyFile]>,
    },
    /// What is wrong with one window of a batch.
    #[error("window {window} ({area}): {error}")]
    Window {
        /// Its number in the batch, from 0.
        window: usize,
        /// Its pixels, in words.
        area: String,
        /// What is wrong.
        #[source]
        error: Box<Error>,
    },
    /// Stopped on request.
    #[error("cancelled")]
    Cancelled,
    /// Samples are of another type than the one asked for.
    #[error("expected samples of type {expected}, got {found}")]
    SampleType {
        /// What was asked for.
        expected: DataType,
        /// The type of the samples.
        found: DataType,
    },
    /// Pixels are in the memory of a GPU, and host memory was asked for.
    #[error("expected pixels in host memory, got pixels in {location}; copy them with `into_host`")]
    OnDevice {
        /// Where they are.
        location: Location,
    },
    /// The engine failed as a whole.
    #[error("{0}")]
    Engine(#[source] EngineError),
}

/// What a program can do about an [`enum@Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system refused or failed: a file that is missing, a full disk, a broken connection.
    Io,
    /// The file is not a TIFF or its structure is broken.
    InvalidFile,
    /// The file is in order, and strile does not read or write this kind.
    Unsupported,
    /// The call asks for what the file does not have, or contradicts itself.
    InvalidRequest,
    /// A limit that protects against hostile files was reached; options raise it.
    Limit,
    /// Memory: the limit of the call, or the system's.
    Memory,
    /// The device that was asked for cannot be used.
    Device,
    /// Blocks of the file are damaged; `OnFault::Fill` reads the rest.
    Damaged,
    /// Stopped on request.
    Cancelled,
    /// strile or the driver failed.
    Internal,
}

/// What a statement of a file is about that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misstated {
    /// Its transform has rotation or shear.
    Rotation,
    /// The size of its pixels.
    PixelSize,
    /// Orientation or tie points that no transform of rows and columns can state.
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

/// What a limit of a read counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Samples of the result or of a block: `ReadOptions::max_pixels`.
    Pixels,
    /// Bytes fetched from a remote source: `ReadOptions::max_cloud_bytes`.
    Fetched,
}

impl Error {
    /// What a program can do about it.
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

    /// An error of the system about a file.
    pub(crate) fn io(path: impl Into<PathBuf>, error: std::io::Error) -> Self {
        Self::Io { path: path.into(), error: Arc::new(error) }
    }

    /// An output that cannot be made: for want of memory, or because of its shape, which `refuse` tells of.
    pub(crate) fn output(error: OutputError, refuse: impl FnOnce(String) -> Self) -> Self {
        match error {
            OutputError::NoMemory(error) => Self::NoMemory { error },
            error => refuse(error.to_string()),
        }
    }
}

/// The option that raises the limit: the purposes of a device's budget say that they are on the device.
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
