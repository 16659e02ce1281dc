//! Fallible large allocations: the caller gets an error where `vec!` would abort the process.
//!
//! A budget bounds what strile takes, but the system may have less (`ulimit -v`, a full machine). So memory whose size
//! depends on a file or on an option is allocated here. Decoders of other libraries allocate by themselves; before a
//! call, `probe` checks that the system has as much as they may take.

#![expect(unsafe_code, reason = "zeroed memory from the allocator, which touches no page")]

use std::alloc::{Layout, alloc_zeroed};
use thiserror::Error;

/// The system refused an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot allocate {bytes} bytes for {purpose}: the system gives this process no more memory")]
pub struct NoMemory {
    /// Bytes requested.
    pub bytes: u64,
    /// Purpose of the memory.
    pub purpose: &'static str,
}

/// Returns `len` zero bytes, or an error if the system has no memory. Pages are zeroed when touched.
pub fn try_zeroed(len: usize, purpose: &'static str) -> Result<Vec<u8>, NoMemory> {
    let none = NoMemory { bytes: len as u64, purpose };
    if len == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u8>(len).map_err(|_| none)?;
    // SAFETY: the layout has a size above 0.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(none);
    }
    // SAFETY: the global allocator returned `len` initialised bytes with the layout of a vector of that capacity.
    Ok(unsafe { Vec::from_raw_parts(start, len, len) })
}

/// Returns an empty vector with capacity for `count` items, or an error if the system has no memory.
pub fn try_with_capacity<T>(count: usize, purpose: &'static str) -> Result<Vec<T>, NoMemory> {
    let mut items = Vec::new();
    match items.try_reserve_exact(count) {
        Ok(()) => Ok(items),
        Err(_) => Err(NoMemory { bytes: (count as u64).saturating_mul(size_of::<T>() as u64), purpose }),
    }
}

/// Returns `count` copies of `item`, or an error if the system has no memory.
pub fn try_filled<T: Clone>(item: T, count: usize, purpose: &'static str) -> Result<Vec<T>, NoMemory> {
    let mut items = try_with_capacity(count, purpose)?;
    items.resize(count, item);
    Ok(items)
}

/// Returns a copy of `bytes`, or an error if the system has no memory.
pub fn try_copy(bytes: &[u8], purpose: &'static str) -> Result<Vec<u8>, NoMemory> {
    let mut copy = try_with_capacity(bytes.len(), purpose)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Checks that the system can provide `bytes` bytes now. For code that aborts on allocation failure.
pub fn probe(bytes: u64, purpose: &'static str) -> Result<(), NoMemory> {
    let none = NoMemory { bytes, purpose };
    let len = usize::try_from(bytes).map_err(|_| none)?;
    // Without `black_box` the unused allocation is optimised away.
    try_with_capacity::<u8>(len, purpose).map(|asked| drop(std::hint::black_box(asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_memory_or_an_error() {
        assert_eq!(try_zeroed(0, "pixels").unwrap(), []);
        assert_eq!(try_zeroed(5, "pixels").unwrap(), [0; 5]);
        let mut grown = try_zeroed(3, "pixels").unwrap();
        grown.extend([1, 2]);
        assert_eq!(grown, [0, 0, 0, 1, 2]);
        assert_eq!(try_filled(7_u16, 2, "spans").unwrap(), [7, 7]);
        assert_eq!(try_copy(b"abc", "pixels").unwrap(), b"abc");
        // No allocator returns 2^62 bytes; 2^63 exceeds a layout's limit.
        let most = 1_usize << 62;
        let refused = try_zeroed(most, "pixels").unwrap_err();
        assert_eq!(refused, NoMemory { bytes: 1 << 62, purpose: "pixels" });
        assert!(try_zeroed(usize::MAX, "pixels").is_err());
        assert!(try_with_capacity::<u64>(most, "spans").is_err());
        assert!(try_with_capacity::<u8>(most, "spans").is_err());
        assert!(probe(1 << 62, "a decoder").is_err() && probe(1 << 20, "a decoder").is_ok());
        assert_eq!(
            refused.to_string(),
            "cannot allocate 4611686018427387904 bytes for pixels: the system gives this process no more memory"
        );
    }
}
