//! The one way kernels are launched: on a stream, with one argument by value.

#![expect(unsafe_code, reason = "calls of the driver")]

use crate::driver::DriverError;
use crate::module::Function;
use crate::stream::Stream;
use std::ffi::c_void;

/// Queues a kernel on a stream: `grid` CUDA blocks of `threads` threads. An empty grid is nothing to do.
///
/// # Safety
/// `Args` must be the struct the kernel declares, `#[repr(C)]`, and the addresses in it must be of memory of the
/// stream's device as large as the kernel's contract says, until the kernel has run.
pub unsafe fn launch<Args: Copy>(
    stream: &Stream,
    function: &Function,
    grid: (u32, u32),
    threads: u32,
    args: &Args,
) -> Result<(), DriverError> {
    if grid.0 == 0 || grid.1 == 0 {
        return Ok(());
    }
    let context = stream.context();
    let _bound = context.bind()?;
    let mut arguments = [std::ptr::from_ref(args).cast::<c_void>().cast_mut()];
    // SAFETY: the driver copies the argument before it returns; the rest is the caller's.
    unsafe {
        context.driver().cuLaunchKernel(
            function.handle(),
            grid.0,
            grid.1,
            1,
            threads,
            1,
            1,
            0,
            stream.handle(),
            arguments.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
}
