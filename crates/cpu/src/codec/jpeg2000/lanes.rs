//! Loops over rows, additionally compiled for CPUs with AVX2.

#![expect(unsafe_code, reason = "calls of a function that is compiled for newer machines")]

/// Loops that are compiled twice. `run` is always inlined, and so should be all functions that it calls often: only
/// inlined code is compiled for AVX2. Functions of the standard library that take closures may not be inlined, so use
/// `for`.
pub(super) trait Loops {
    fn run(self);
}

/// Runs loops with AVX2 if the CPU has it.
pub(super) fn wide(loops: impl Loops) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        return unsafe { with_avx2(loops) };
    }
    loops.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(loops: impl Loops) {
    loops.run();
}
