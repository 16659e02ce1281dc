//! Search for a value among placed samples: arguments of the kernel `find`, counterparts of `kernels/steps/find_abi.h`.
//! It processes the tasks of `place.cu` after them; the result is copied back with the statuses. Finished pixels are
//! searched by the same kernel (`Engine::find`), with tasks for their rows.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::bytes_of;
use crate::decode::place::{PlaceArgs, PlaceLayout, PlaceTask};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::{Lane, Spare};
use crate::launch::launch;
use crate::memory::Kind;
use crate::steps::step::{address_of_output, not_cancelled};
use std::collections::BTreeMap;
use strile_engine::{
    Context, EngineError, FindJob, FindPart, Output, OutputBox, OutputSpec, SampleParts, Sought,
};

/// Name of the `.cu` file without its extension, and of its entry point.
pub const MODULE: &str = "find";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 128;

/// Arguments of the kernel `find`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct FindArgs {
    /// `PlaceTask`s.
    pub tasks: u64,
    /// `PlaceLayout`s.
    pub layouts: u64,
    /// A `u32` each: tasks whose status is not 0 are skipped.
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

/// Maximum number of tasks that the rows of a part are cut into: each is a CUDA block.
const MOST_TASKS: u32 = 4096;
/// Bytes before the tables: the word for the result.
const WORD: usize = 16;

/// Values that tasks look for, each with a number from 1.
#[derive(Debug, Default)]
pub struct Values(BTreeMap<Sought, u32>);

impl Values {
    /// Makes a task look for a value; `None` after 2^32 values.
    pub fn set(&mut self, task: &mut PlaceTask, sought: &Sought) -> Option<()> {
        let next = u32::try_from(self.0.len()).ok()?.checked_add(1)?;
        task.sought = *self.0.entry(*sought).or_insert(next);
        Some(())
    }

    /// Returns whether no task looks for a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the arguments of one launch per value, over all tasks of `place`.
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
                SampleParts::One => 0,
                SampleParts::FirstAndZero => 1,
                SampleParts::Either => 2,
            },
            sought: number,
            count: place.count,
            reserved: 0,
        };
        self.0.iter().map(args).collect()
    }
}

/// A prepared search of finished pixels: tables for the device, and their launches.
pub(crate) struct FindPlan {
    tasks: Vec<PlaceTask>,
    layout: PlaceLayout,
    values: Values,
}

impl FindPlan {
    /// Prepares a job for pixels at an address; returns an error if it does not fit.
    pub(crate) fn new(job: &FindJob, spec: &OutputSpec, start: u64) -> Result<Self, EngineError> {
        job.check(spec)?;
        let (layout, mut values, mut tasks) = (PlaceLayout::of_output(spec), Values::default(), Vec::new());
        let height = spec.rows.div_ceil(MOST_TASKS).max(1);
        for FindPart { first_band, bands, sought } in &job.parts {
            for row in (0..spec.rows).step_by(height as usize) {
                let rows = (row, height.min(spec.rows - row));
                let mut task = layout.rows(start, (*first_band, *bands), rows, spec.columns);
                values.set(&mut task, sought).ok_or(EngineError::Abandoned)?;
                tasks.push(task);
            }
        }
        Ok(Self { tasks, layout, values })
    }

    /// Returns the bytes of the word and the tables.
    fn len(&self) -> usize {
        WORD + size_of::<PlaceLayout>() + size_of_val(self.tasks.as_slice())
    }

    /// Writes the word and the tables, which will lie at an address, and returns the arguments of each launch.
    fn write(&self, at: u64, to: &mut [u8]) -> Result<Vec<FindArgs>, EngineError> {
        let (word, tables) = to.split_at_mut_checked(WORD).ok_or(EngineError::Abandoned)?;
        let (layout, tasks) =
            tables.split_at_mut_checked(size_of::<PlaceLayout>()).ok_or(EngineError::Abandoned)?;
        word.fill(0);
        layout.copy_from_slice(bytes_of(std::slice::from_ref(&self.layout)));
        tasks.copy_from_slice(bytes_of(&self.tasks));
        let layouts = at + WORD as u64;
        let place = PlaceArgs {
            tasks: layouts + size_of::<PlaceLayout>() as u64,
            layouts,
            count: u32::try_from(self.tasks.len()).map_err(|_| EngineError::Abandoned)?,
            ..PlaceArgs::default()
        };
        Ok(self.values.args(&place, at))
    }
}

/// Looks for values in finished pixels.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &FindJob,
    output: &Output,
    context: &Context,
) -> Result<bool, Stop> {
    not_cancelled(&context.cancel)?;
    let (start, spec) = (address_of_output(device, output)?, output.spec());
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let _claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let planned = FindPlan::new(job, spec, start)?;
    if planned.tasks.is_empty() || spec.columns == 0 {
        return Ok(false);
    }
    let _bound = device.bind()?;
    let len = planned.len() as u64;
    let _lease = device.budget().take(Kind::Working, len, "the search for a value", &context.cancel)?;
    let lane = spare.lane(device)?;
    let found = queue(device, spare, &lane, &planned);
    let ended = lane.synchronize();
    let found = found?;
    ended?;
    spare.give_lane(lane);
    Ok(found)
}

/// Queues the tables and the launches, and waits for the word.
fn queue(device: &Device, spare: &Spare, lane: &Lane, planned: &FindPlan) -> Result<bool, Stop> {
    let function = device.function(MODULE, MODULE)?;
    let len = planned.len();
    let buffer = device.pool().alloc(&lane.copies, len as u64)?;
    let mut up = spare.pinned(device, len)?;
    let args = planned.write(buffer.address(), up.get_mut(..len).ok_or(EngineError::Abandoned)?)?;
    let sent = buffer.upload(&lane.copies, 0, up, len)?;
    for args in args {
        // SAFETY: the tables lie in the buffer, which is freed on the same stream, and refer to rows of the output,
        // which the caller keeps and has claimed.
        unsafe { launch(&lane.copies, &function, (args.count, 1), THREADS, &args) }?;
    }
    let mut word = [0; 4];
    buffer.read(&lane.copies, 0, &mut word)?;
    spare.give_pinned(sent.wait()?);
    Ok(word != [0; 4])
}
