//! What can go wrong, in kinds a user can act on.

use std::path::PathBuf;
use std::sync::Arc;
use strile_engine::memory::NoMemory;
use strile_engine::{BudgetError, EngineError, LocatedFault, OutputError};
use strile_tiff::TiffError;
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

/// Any failure of strile.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The system refused or failed.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: Arc<std::io::Error>,
    },
    /// The file is wrong, unsupported, or over a limit of its structure.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
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
    /// The device that was asked for cannot be used, or not so.
    #[error("{file}: {problem}")]
    Device {
        /// The file.
        file: String,
        /// Which device, and why not.
        problem: String,
    },
    /// Memory for it would pass the limit.
    #[error("{error}; raise the limit with {}, or read a window", limit_of(error))]
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
        error: Box<Error>,
    },
    /// Stopped on request.
    #[error("cancelled")]
    Cancelled,
    /// The engine failed as a whole.
    #[error("{0}")]
    Engine(EngineError),
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

/// Which limit it was: the purposes of a device's budget say that they are on the device.
fn limit_of(error: &BudgetError) -> &'static str {
    match error.purpose.ends_with("on the device") {
        true => "`--device-memory` (`ReadOptions::device_memory`)",
        false => "`--memory` (`Context::budget`)",
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
