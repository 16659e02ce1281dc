//! The heap of a process whose address space is limited.
//!
//! glibc gives every thread a heap of its own and reserves 64 to 128 MiB of address space for each. Under `ulimit -v` a
//! few threads exhaust the limit, and the next small allocation ends the process.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "calls of the C library")
)]

/// Makes all threads share one heap if the address space of this process is limited. glibc decides when the second
/// thread allocates, so call this first in a program. Does nothing without a limit, or with another C library.
pub fn share_heap_if_limited() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if address_space_is_limited() {
        // SAFETY: sets a number in the allocator, which takes its own lock. It returns 0 if it does not know the
        // parameter; nothing changes then.
        let _set = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn address_space_is_limited() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the pointer is to a value of this type that outlives the call.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    read == 0 && limit.rlim_cur != libc::RLIM_INFINITY
}
