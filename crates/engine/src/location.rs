//! Where memory lies: on the host, or on a device that only its engine can reach.

#![expect(unsafe_code, reason = "an address on a device is a promise of whoever gives it")]

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The memory of the host, or that of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Location {
    /// Ordinary memory.
    Host,
    /// The memory of this CUDA device.
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
    /// Bytes that live as long as `owner`.
    ///
    /// # Safety
    /// `address` must be valid for `len` bytes on that CUDA device while `owner` lives. Nobody else may write to bytes
    /// that are decoded, or touch those that are an output, while a job that was given them is under way; work queued
    /// on them before must be done when they are given.
    pub unsafe fn new(device: u32, address: u64, len: u64, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { device, address, len, owner }
    }

    /// Which device.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// The first byte's address on it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks for memory of no bytes")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// What keeps them.
    pub fn owner(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.owner
    }
}

impl fmt::Debug for DeviceBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x} of cuda:{}", self.len, self.address, self.device)
    }
}
