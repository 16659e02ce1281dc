//! Loops over rows, compiled for machines with AVX2 as well.

#![expect(unsafe_code, reason = "calls of a function that is compiled for newer machines")]

/// Loops that are compiled twice. `run` is inlined always, and all that it calls often should be: only what is inlined
/// is compiled for newer machines. Functions of the standard library that take closures may not be, so use `for`.
pub(super) trait Loops {
    fn run(self);
}

/// Runs loops with AVX2 if the machine has it.
pub(super) fn wide(loops: impl Loops) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, asked just now.
        return unsafe { with_avx2(loops) };
    }
    loops.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(loops: impl Loops) {
    loops.run();
}
