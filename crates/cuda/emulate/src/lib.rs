//! Runs the CUDA kernels on the CPU, for tests.
//!
//! The files in `crates/cuda/kernels` are compiled by g++ against the twin of the device in `cpp/` (a fibre per CUDA
//! thread, warp collectives and barriers as rendezvous, the order of threads random by a seed), each `.cu` on its own
//! and only when a test asks for it; the result is kept by the hash of its sources. Buffers are ordinary host memory,
//! whose addresses go into the kernel's arguments.
//!
//! ```no_run
//! use strile_emulate::{Emulator, Poisoned};
//!
//! #[derive(Clone, Copy)]
//! #[repr(C)]
//! struct DoubleArgs {
//!     data: u64,
//!     count: u64,
//! }
//!
//! # fn main() -> Result<(), String> {
//! let kernels = Emulator::module("double")?; // kernels/double.cu, which has KERNEL(double_words, 128, DoubleArgs)
//! for seed in Emulator::seeds() {
//!     let mut data = Poisoned::new(4096, seed); // exactly so long, 256-byte aligned, garbage inside, guarded
//!     data.fill(1);
//!     let args = DoubleArgs { data: data.address(), count: 1024 };
//!     kernels.launch("double_words", (8, 1), 128, &args, seed)?; // grid (x, y), threads a block
//!     data.check()?; // nothing before or after it was written
//!     assert_eq!(&data[..4], [2, 2, 2, 2]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What a launch finds and gives as `Err`, naming kernel, block, thread, seed and line: deadlock, a barrier that lanes of
//! one warp come to at different lines, a mask that names an exited lane or not the caller, an endless loop (with or
//! without a rendezvous; see [`Limits`]), and undefined behaviour of C++:
//! misaligned access, shift too far, signed overflow, index out of an array. What it cannot see but makes differ between
//! seeds: races, uninitialised shared memory (garbage by seed before every block), an order of blocks that is taken for
//! granted. Compare the results of all seeds.
//!
//! Accesses outside buffers and freed memory are found by AddressSanitizer, which has to be in the process from its
//! start. Run the same tests once more as
//!
//! ```text
//! export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="env LD_PRELOAD=$(g++ -print-file-name=libasan.so) \
//!     ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 STRILE_SANITIZE=1"
//! cargo test -p strile-cuda --test deflate
//! ```
//!
//! ([`sanitized_runner`] gives that value.) There the heap blocks of Rust (`Vec`, [`Poisoned`]) have red zones as well,
//! so a kernel that reads one byte past a buffer ends the test with a report.
//!
//! Races are found by ThreadSanitizer, in the same way: [`races_environment`] gives the environment, and
//! `cargo xtask races` runs tests in it. Each CUDA thread is a thread there. Only `__syncwarp`, barriers and the begin
//! and end of a launch order accesses to memory: a missing one is reported with both lines, whether or not it changed a
//! result. Races between neighbouring blocks are reported too.
//!
//! [`StandIn`] is a driver made of this: `libcuda.so.1` and `libcufile.so.0` whose device memory is host memory and whose
//! launches run the emulated kernels. `StandIn::load()?.alone()` before anything asks for the driver; then the engine
//! itself can be tested, and [`StandIn::calls`] tells what it asked of the driver. For a test of another process (the
//! command line, Python) [`StandIn::build`] gives the folder for its `LD_LIBRARY_PATH`, as does
//! `cargo run -p strile-emulate --example standin`.

mod compile;
mod garbage;
mod module;
mod nvcomp;
mod nvjpeg2000;
mod poisoned;
mod standin;

pub use compile::{races_environment, sanitized, sanitized_runner, watched_for_races};
pub use garbage::Garbage;
pub use module::{Emulator, Limits, Module};
pub use nvcomp::{NvcompDecoder, load_nvcomp, nvcomp};
pub use nvjpeg2000::nvjpeg2000;
pub use poisoned::Poisoned;
pub use standin::{Alone, Call, StandIn};
