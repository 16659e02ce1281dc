//! Location of memory: on the host, or on a device that only its engine can access.

#![expect(unsafe_code, reason = "an address on a device is a promise of whoever gives it")]

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Host memory, or the memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Location {
    /// Host memory.
    Host,
    /// Memory of this CUDA device.
    Cuda(u32),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host memory"),
            Self::Cuda(index) => write!(f, "memory of cuda:{index}"),
        }
    }
}

/// Bytes in the memory of a device. Clones share them.
#[derive(Clone)]
pub struct DeviceBytes {
    device: u32,
    address: u64,
    len: u64,
    owner: Arc<dyn Any + Send + Sync>,
}

impl DeviceBytes {
    /// Returns bytes that live as long as `owner`.
    ///
    /// # Safety
    /// `address` must be valid for `len` bytes on that CUDA device while `owner` lives. While a job uses them, input
    /// bytes must not be written and output bytes must not be accessed by anything else; work queued on them earlier
    /// must be complete when the job is submitted.
    pub unsafe fn new(device: u32, address: u64, len: u64, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { device, address, len, owner }
    }

    /// Returns the device number.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Returns the device address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks for memory of no bytes")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the owner of the memory.
    pub fn owner(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.owner
    }
}

impl fmt::Debug for DeviceBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x} of cuda:{}", self.len, self.address, self.device)
    }
}
