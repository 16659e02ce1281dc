//! Looking for a value among samples that were placed: what the kernel `find` is launched with, twins of
//! `kernels/find_abi.h`. It goes over the tasks of `place.cu` once they are done; what it finds comes back with the statuses.

use crate::place::{PlaceArgs, PlaceTask};
use std::collections::BTreeMap;
use strile_engine::{Parts, Sought};

/// The `.cu` file without its ending, and the entry point in it.
pub const MODULE: &str = "find";
/// Threads of a CUDA block, as the kernel says.
pub const THREADS: u32 = 128;

/// Arguments of the kernel `find`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct FindArgs {
    /// `PlaceTask`s.
    pub tasks: u64,
    /// `PlaceLayout`s.
    pub layouts: u64,
    /// A `u32` each: tasks whose status is not 0 are left alone.
    pub statuses: u64,
    /// A `u32` that becomes 1 if the value is found.
    pub found: u64,
    mask: u64,
    low: u64,
    span: u64,
    parts: u32,
    sought: u32,
    /// Number of tasks.
    pub count: u32,
    reserved: u32,
}

const _: () = assert!(size_of::<FindArgs>() == 72);

/// Values that tasks look for, each with a number from 1.
#[derive(Debug, Default)]
pub struct Values(BTreeMap<Sought, u32>);

impl Values {
    /// Lets a task look for a value; `None` after 2^32 values.
    pub fn set(&mut self, task: &mut PlaceTask, sought: &Sought) -> Option<()> {
        let next = u32::try_from(self.0.len()).ok()?.checked_add(1)?;
        task.sought = *self.0.entry(*sought).or_insert(next);
        Some(())
    }

    /// Whether no task looks for anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The arguments of a launch for each value, over all tasks of `place`, which says where they lie.
    pub fn args(&self, place: &PlaceArgs, found: u64) -> Vec<FindArgs> {
        let args = |(sought, &number): (&Sought, &u32)| FindArgs {
            tasks: place.tasks,
            layouts: place.layouts,
            statuses: place.statuses,
            found,
            mask: sought.mask,
            low: sought.low,
            span: sought.span,
            parts: match sought.parts {
                Parts::One => 0,
                Parts::FirstAndZero => 1,
                Parts::Either => 2,
            },
            sought: number,
            count: place.count,
            reserved: 0,
        };
        self.0.iter().map(args).collect()
    }
}
