//! Starting threads.
//!
//! The standard library gives every new thread a stack for signals, and panics in that thread if the system has no
//! memory for it. A process with a limited address space (`ulimit -v`) would then end by a panic instead of an error.
//! So memory for a thread is requested before the thread is started.

use crate::memory::probe;
use std::io;
use std::thread::Builder;

/// Bytes of address space per thread: 2 MiB of stack, its signal stack, and its allocations at startup.
const ROOM: u64 = 3 << 20;

/// Returns a builder for a thread with this name, or an error if the system has no memory for one.
pub fn thread_builder(name: &str) -> io::Result<Builder> {
    match probe(ROOM, "a thread") {
        Ok(()) => Ok(Builder::new().name(name.to_owned())),
        Err(none) => Err(io::Error::new(io::ErrorKind::OutOfMemory, none)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name() {
        let thread =
            thread_builder("strile-test").unwrap().spawn(|| std::thread::current().name().map(str::to_owned));
        assert_eq!(thread.unwrap().join().unwrap().as_deref(), Some("strile-test"));
    }
}
