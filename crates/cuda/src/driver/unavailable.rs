//! Reasons why no GPU can be used, and errors of driver calls: one sentence each.

use super::Code;
use crate::device::OLDEST_CAPABILITY;
use cudarc::driver::sys::CUresult;
use thiserror::Error;

/// Reason why the CUDA engine cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The driver's library was not found.
    #[error(
        "no NVIDIA driver: `libcuda.so.1` was not found; install the driver, or add its folder to LD_LIBRARY_PATH"
    )]
    NoDriver,
    /// The driver supports only older programs.
    #[error(
        "the NVIDIA driver is too old: it supports CUDA {}, {} is needed; install driver 525 or newer",
        version(*found), version(*needed)
    )]
    DriverTooOld {
        /// 1000 × major + 10 × minor of the CUDA version it supports.
        found: u32,
        /// Oldest supported version.
        needed: u32,
    },
    /// There is a driver but no device, or none that this process may see.
    #[error("an NVIDIA driver and no GPU: none is there, or CUDA_VISIBLE_DEVICES hides it")]
    NoDevice,
    /// There is no device of this index.
    #[error("no GPU {index}: this process sees {count}, counted from 0")]
    NoSuchDevice {
        /// Requested index.
        index: u32,
        /// Number of devices.
        count: u32,
    },
    /// The device is older than the kernels.
    #[error(
        "the GPU `{name}` is too old: its compute capability is {}.{}, {}.{} is needed (Volta or newer)",
        capability.0, capability.1, OLDEST_CAPABILITY.0, OLDEST_CAPABILITY.1
    )]
    DeviceTooOld {
        /// Name of the device.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// Reads by cuFile were requested, but it cannot be used.
    #[error("{reason}; leave direct reads off, or install cuFile (GPUDirect Storage)")]
    NoDirectReads {
        /// Reason.
        reason: String,
    },
    /// Decoding by a library was requested, but it cannot be used.
    #[error("{reason}")]
    NoLibrary {
        /// Reason, and what to do.
        reason: String,
    },
    /// The environment variable for the number of processes that share the card is not a number of processes.
    #[error("STRILE_GPU_SHARE is `{found}`: expected the number of processes sharing the card, 1 or more")]
    Share {
        /// Value of the variable.
        found: String,
    },
    /// CUDA does not survive a fork.
    #[error("{FORKED}")]
    Forked,
    /// A call failed that works on a healthy machine.
    #[error("the NVIDIA driver does not work here: `{call}`: {error}; see whether `nvidia-smi` works")]
    Failed {
        /// Driver function.
        call: &'static str,
        /// Its error.
        error: String,
    },
}

const FORKED: &str = "this process was forked after CUDA was used, which CUDA does not support; start workers by spawn instead";

/// A failed call to the driver.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriverError {
    /// A driver function returned an error.
    #[error("`{call}` failed with {name} ({code})")]
    Call {
        /// Driver function.
        call: &'static str,
        /// Error number.
        code: Code,
        /// Name of the error number.
        name: String,
    },
    /// CUDA does not survive a fork.
    #[error("{FORKED}")]
    Forked,
    /// No cubin and no PTX of that name is built in.
    #[error("no kernels called `{module}` are built in")]
    NoImage {
        /// Requested module.
        module: &'static str,
    },
    /// A copy or a fill exceeds its memory.
    #[error("{len} bytes at {offset} do not lie in a buffer of {size}")]
    OutOfBounds {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
        /// Size of the buffer.
        size: u64,
    },
}

impl DriverError {
    /// Returns whether it failed for lack of memory, which a smaller batch may solve.
    pub fn is_out_of_memory(&self) -> bool {
        self.is(CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Returns whether this is that result of a call.
    pub(crate) fn is(&self, result: CUresult) -> bool {
        matches!(self, Self::Call { code, .. } if *code == result as Code)
    }
}

impl From<DriverError> for Unavailable {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Call { call, code, name } => {
                Self::Failed { call, error: format!("{name} ({code})") }
            }
            DriverError::Forked => Self::Forked,
            // Opening a device neither loads kernels nor copies.
            other @ (DriverError::NoImage { .. } | DriverError::OutOfBounds { .. }) => {
                Self::Failed { call: "cuModuleLoadData", error: other.to_string() }
            }
        }
    }
}

/// Formats 12040 as `12.4`.
fn version(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_one_clear_sentence() {
        let too_old = Unavailable::DriverTooOld { found: 11_040, needed: 12_000 };
        let device = Unavailable::DeviceTooOld { name: "Tesla P100".to_owned(), capability: (6, 0) };
        let failed = DriverError::Call { call: "cuInit", code: 999, name: "CUDA_ERROR_UNKNOWN".to_owned() };
        let sentences = [
            (
                Unavailable::NoDriver,
                "no NVIDIA driver: `libcuda.so.1` was not found; install the driver, or add its folder to \
                 LD_LIBRARY_PATH",
            ),
            (
                too_old,
                "the NVIDIA driver is too old: it supports CUDA 11.4, 12.0 is needed; install driver 525 or newer",
            ),
            (
                Unavailable::NoDevice,
                "an NVIDIA driver and no GPU: none is there, or CUDA_VISIBLE_DEVICES hides it",
            ),
            (
                Unavailable::NoSuchDevice { index: 3, count: 2 },
                "no GPU 3: this process sees 2, counted from 0",
            ),
            (
                device,
                "the GPU `Tesla P100` is too old: its compute capability is 6.0, 7.0 is needed (Volta or newer)",
            ),
            (
                Unavailable::Forked,
                "this process was forked after CUDA was used, which CUDA does not support; start workers by spawn \
                 instead",
            ),
            (
                failed.into(),
                "the NVIDIA driver does not work here: `cuInit`: CUDA_ERROR_UNKNOWN (999); see whether `nvidia-smi` works",
            ),
        ];
        for (unavailable, sentence) in sentences {
            assert_eq!(unavailable.to_string(), sentence);
        }
    }

    #[test]
    fn the_cause_of_a_failed_call_is_kept() {
        let memory =
            DriverError::Call { call: "cuMemHostAlloc", code: 2, name: "CUDA_ERROR_OUT_OF_MEMORY".into() };
        assert!(memory.is_out_of_memory() && !DriverError::Forked.is_out_of_memory());
        assert_eq!(memory.to_string(), "`cuMemHostAlloc` failed with CUDA_ERROR_OUT_OF_MEMORY (2)");
    }
}
