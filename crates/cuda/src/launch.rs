//! Kernel launches: on a stream, with one argument by value.

#![expect(unsafe_code, reason = "calls of the driver")]

use crate::driver::DriverError;
use crate::module::Function;
use crate::stream::Stream;
use std::ffi::c_void;
use std::ops::Range;

/// Bytes that a CUDA block should write.
const PART: u64 = 32 << 10;

/// A kernel and the shape of its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Name of the `.cu` file without its extension.
    pub module: &'static str,
    /// Entry point.
    pub entry: &'static str,
    /// CUDA blocks.
    pub grid: (u32, u32),
    /// Threads per CUDA block.
    pub threads: u32,
}

/// Tasks of one entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLaunch {
    /// Entry point.
    pub entry: &'static str,
    /// Range of the tasks.
    pub tasks: Range<usize>,
    /// Bytes that the largest task writes.
    largest: u64,
}

impl TaskLaunch {
    /// Sorts tasks by entry point and returns the launches. `len` returns the bytes that a task writes.
    pub(crate) fn group<Task>(
        tasks: &mut [Task],
        entry: impl Fn(&Task) -> &'static str,
        len: impl Fn(&Task) -> u64,
    ) -> Vec<Self> {
        if let Some(first) = tasks.first().map(&entry)
            && tasks.iter().all(|task| std::ptr::eq(entry(task), first))
        {
            let largest = tasks.iter().map(len).max().unwrap_or(0);
            return vec![Self { entry: first, tasks: 0..tasks.len(), largest }];
        }
        tasks.sort_by_key(|task| entry(task));
        let mut launches: Vec<Self> = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            let (entry, len) = (entry(task), len(task));
            match launches.last_mut() {
                Some(last) if last.entry == entry => {
                    last.tasks.end = index + 1;
                    last.largest = last.largest.max(len);
                }
                _ => launches.push(Self { entry, tasks: index..index + 1, largest: len }),
            }
        }
        launches
    }

    /// Returns the grid on a device with this number of multiprocessors. The largest task decides how many CUDA blocks
    /// share a task; if there are few tasks, they are cut finer.
    pub fn grid(&self, multiprocessors: u32) -> (u32, u32) {
        let count = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let filling = (16 * u64::from(multiprocessors)).div_ceil(u64::from(count.max(1)));
        // A part of less than a sixteenth of the usual size is not worth a CUDA block.
        let parts = self.largest.div_ceil(PART).max(filling.min(self.largest.div_ceil(PART / 16)));
        (count, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
    }

    /// Returns the grid of a kernel that processes everything that these launches wrote.
    pub fn grid_of_all(launches: &[Self], multiprocessors: u32) -> (u32, u32) {
        let end = launches.last().map_or(0, |last| last.tasks.end);
        let largest = launches.iter().map(|launch| launch.largest).max().unwrap_or(0);
        Self { entry: "", tasks: 0..end, largest }.grid(multiprocessors)
    }
}

/// Queues a kernel on a stream: `grid` CUDA blocks of `threads` threads. An empty grid does nothing.
///
/// # Safety
/// `Args` must be the struct the kernel declares, `#[repr(C)]`, and the addresses in it must point to memory of the
/// stream's device, as large as the kernel's contract requires, until the kernel has run.
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
    // SAFETY: the driver copies the argument before it returns; the caller guarantees the rest.
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
