//! Where the pixels of a batch are: in a tensor of strile's, or in memory of the caller.

use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::read::{WindowFault, fetch_back};
use std::sync::Arc;
use strile_engine::{Context, Engine, EngineError, Location, Output, Report};

/// The pixels of a batch in host memory or that of a GPU: contiguous, native byte order.
pub struct Tensor {
    /// Windows, bands, rows, columns.
    pub shape: [u32; 4],
    /// The memory; its bands are those of all windows, one window after the other.
    pub output: Output,
    /// What the engine did; which blocks are faulty is in `faults`.
    pub report: Report,
    /// Faulty blocks, where they were to be filled.
    pub faults: Vec<WindowFault>,
    /// Sources that mosaics went on without, by the names these have for them, and why.
    pub holes: Vec<(String, String)>,
    /// The level that each window was read from.
    pub levels: Vec<usize>,
    pub(super) engine: Arc<dyn Engine>,
}

impl Tensor {
    /// Where the pixels are.
    pub fn location(&self) -> Location {
        self.output.location()
    }

    /// The pixels in host memory: the same memory where they are there already, else a copy.
    pub fn into_host(self, context: &Context) -> Result<Vec<u8>> {
        match self.location() {
            Location::Host => self.output.into_vec().ok_or(Error::Engine(EngineError::Abandoned)),
            Location::Cuda(_) => self.to_host(context),
        }
    }

    /// A copy, in host memory, of pixels that are on a device; `into_host` gives those that are in host memory.
    pub fn to_host(&self, context: &Context) -> Result<Vec<u8>> {
        let abandoned = || Error::Engine(EngineError::Abandoned);
        let spec = self.output.spec().clone();
        let need = spec.len().map_or(u64::MAX, |len| len as u64);
        let _lease = context.take(need, "the pixels of the batch")?;
        let copy = Output::new(spec).map_err(|error| Error::output(error, |_| abandoned()))?;
        let bytes = self.output.device_bytes().ok_or_else(abandoned)?;
        fetch_back(bytes, Interleave::BandFirst, self.engine.as_ref(), &copy, context)?;
        copy.into_vec().ok_or_else(abandoned)
    }
}

/// Memory of the caller for batches of one shape, used again for each: with any strides, on the host or on a device.
pub struct BatchOutput {
    output: Output,
    shape: [u32; 4],
}

impl BatchOutput {
    /// An output whose bands are those of so many windows, one window after the other.
    pub fn new(output: Output, windows: u32) -> Result<Self> {
        let spec = output.spec();
        match spec.bands.checked_div(windows).filter(|bands| bands * windows == spec.bands) {
            Some(bands) => {
                let shape = [windows, bands, spec.rows, spec.columns];
                Ok(Self { output, shape })
            }
            None => Err(Error::Request {
                file: "output of a batch".to_owned(),
                problem: format!(
                    "{} bands are not those of {windows} windows, as many of each and one window at least",
                    spec.bands
                ),
            }),
        }
    }

    /// Windows, bands, rows, columns.
    pub fn shape(&self) -> [u32; 4] {
        self.shape
    }

    /// The memory.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// The memory, for other uses.
    pub fn into_output(self) -> Output {
        self.output
    }
}
