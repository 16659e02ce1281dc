//! The caller's memory for batches.

use crate::error::{Error, Result};
use strile_engine::Output;

/// The caller's memory for batches of one shape, reusable: with any strides, on the host or on a device.
pub struct BatchOutput {
    output: Output,
    shape: [u32; 4],
}

impl BatchOutput {
    /// Creates an output whose bands are those of `windows` windows, one window after the other.
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

    /// Returns the numbers of windows, bands, rows and columns.
    pub fn shape(&self) -> [u32; 4] {
        self.shape
    }

    /// Returns the memory.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Returns the memory, for other uses.
    pub fn into_output(self) -> Output {
        self.output
    }
}
