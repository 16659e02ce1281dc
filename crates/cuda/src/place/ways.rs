//! Which entry point of the kernel takes a task, and the shape of its launch.
//!
//! Every way through `kernels/place.cu` has an entry point, whose file says what it needs; `place_each` takes all.

use super::abi::{Number, Path, PlaceLayout, PlaceTask, TASK_FILL, TASK_INTERLEAVED};
use std::ops::Range;

/// Bytes of pixels that a CUDA block should have to write.
const PART: u64 = 32 << 10;

/// Tasks that one entry point takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The entry point.
    pub entry: &'static str,
    /// Which of the tasks.
    pub tasks: Range<usize>,
    /// Bytes that the largest of them writes.
    largest: u64,
}

impl Launch {
    /// The grid on a device with so many multiprocessors. The largest task decides how many CUDA blocks share one, and
    /// few tasks are cut finer.
    pub fn grid(&self, multiprocessors: u32) -> (u32, u32) {
        let count = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let filling = (16 * u64::from(multiprocessors)).div_ceil(u64::from(count.max(1)));
        // A part of less than a sixteenth of the usual is not worth a CUDA block.
        let parts = self.largest.div_ceil(PART).max(filling.min(self.largest.div_ceil(PART / 16)));
        (count, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
    }
}

/// The grid of a kernel that goes over everything that these launches wrote.
pub fn grid_of_all(launches: &[Launch], multiprocessors: u32) -> (u32, u32) {
    let end = launches.last().map_or(0, |last| last.tasks.end);
    let largest = launches.iter().map(|launch| launch.largest).max().unwrap_or(0);
    Launch { entry: "", tasks: 0..end, largest }.grid(multiprocessors)
}

/// Sorts tasks by the entry points that take them, and says which takes which.
pub fn launches(tasks: &mut [PlaceTask], layouts: &[PlaceLayout]) -> Vec<Launch> {
    let layout = |task: &PlaceTask| layouts.get(task.layout as usize);
    let entry = |task: &PlaceTask| layout(task).map_or(EACH, |layout| layout.entry(task));
    tasks.sort_by_key(entry);
    let mut launches: Vec<Launch> = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let (entry, len) = (entry(task), task.len(layout(task).map_or(1, PlaceLayout::sample_len)));
        match launches.last_mut() {
            Some(last) if last.entry == entry => {
                last.tasks.end = index + 1;
                last.largest = last.largest.max(len);
            }
            _ => launches.push(Launch { entry, tasks: index..index + 1, largest: len }),
        }
    }
    launches
}

/// The entry point that takes everything.
const EACH: &str = "place_each";

impl PlaceTask {
    /// Bytes that it writes.
    fn len(&self, sample: u64) -> u64 {
        let samples = u64::from(self.width) * u64::from(self.height);
        samples.saturating_mul(u64::from(self.bands)).saturating_mul(sample)
    }
}

impl PlaceLayout {
    fn entry(&self, task: &PlaceTask) -> &'static str {
        if task.flags & TASK_FILL != 0 {
            return EACH;
        }
        let interleaved = task.flags & TASK_INTERLEAVED != 0;
        let converts = self.number != Number::AsIs as u8;
        let (copy, sums) = (self.path == Path::Copy as u8, self.path == Path::Sums as u8);
        if self.path == Path::Planes as u8 {
            let words = task.src.is_multiple_of(4) && self.width.is_multiple_of(4);
            let floats = self.number == Number::Float as u8 && self.size == 4;
            return match (self.native, converts) {
                _ if !words || !interleaved => EACH,
                (2, false) => "place_planes_2",
                (4, false) => "place_planes_4",
                (8, false) => "place_planes_8",
                (4, true) if floats => "place_floats_planes_4",
                _ => EACH,
            };
        }
        // Rows of bytes, or of numbers one after the other, however many a pixel has.
        if copy && interleaved {
            return match (self.native, converts) {
                (_, false) => "place_rows_1_1",
                (1, true) => "place_floats_1_1",
                (2, true) => "place_floats_2_1",
                (4, true) => "place_floats_4_1",
                _ => EACH,
            };
        }
        let whole_order = self.swap == 0 || self.swap == self.native;
        let bands = self.samples > 1 && self.column_stride == u64::from(self.size);
        if !(copy || sums) || !whole_order || !(interleaved || bands) {
            return EACH;
        }
        match (self.native, self.samples, converts) {
            (1, 1, false) => "place_rows_1_1",
            (1, 2, false) => "place_rows_1_2",
            (1, 3, false) => "place_rows_1_3",
            (1, 4, false) => "place_rows_1_4",
            (2, 1, false) => "place_rows_2_1",
            (2, 2, false) => "place_rows_2_2",
            (2, 3, false) => "place_rows_2_3",
            (2, 4, false) => "place_rows_2_4",
            (4, 1, false) => "place_rows_4_1",
            (4, 2, false) => "place_rows_4_2",
            (4, 3, false) => "place_rows_4_3",
            (4, 4, false) => "place_rows_4_4",
            (1, 1, true) => "place_floats_1_1",
            (1, 3, true) => "place_floats_1_3",
            (1, 4, true) => "place_floats_1_4",
            (2, 1, true) => "place_floats_2_1",
            (4, 1, true) => "place_floats_4_1",
            _ => EACH,
        }
    }
}
