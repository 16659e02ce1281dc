//! Device memory that outlives the job that filled it: an output with its lease.

#![expect(unsafe_code, reason = "an address for whoever holds the memory")]

use super::{DeviceBuffer, Lease};
use std::sync::Arc;
use strile_engine::DeviceBytes;

/// Keeps the memory of an output alive.
struct Owner {
    _buffer: DeviceBuffer,
    _lease: Lease,
}

/// Turns a buffer into shareable bytes; it is freed, and its lease returned, with the last of them.
pub fn lasting(device: u32, buffer: DeviceBuffer, lease: Lease) -> DeviceBytes {
    let (address, len) = (buffer.address(), buffer.len());
    let owner = Arc::new(Owner { _buffer: buffer, _lease: lease });
    // SAFETY: the owner has the buffer, which is as long as stated, and its address is not shared otherwise.
    unsafe { DeviceBytes::new(device, address, len, owner) }
}
