//! Choice of the kernel entry point for a task, and its launch.
//!
//! Every path through `kernels/place/place.cu` has an entry point, whose file states its requirements; `place_each`
//! supports everything.

use super::abi::{Number, Path, PlaceLayout, PlaceTask, TASK_FILL, TASK_INTERLEAVED};
use crate::launch::TaskLaunch;

/// Sorts tasks by entry point and returns the launches.
pub fn launches(tasks: &mut [PlaceTask], layouts: &[PlaceLayout]) -> Vec<TaskLaunch> {
    let layout = |task: &PlaceTask| layouts.get(task.layout as usize);
    let entry = |task: &PlaceTask| layout(task).map_or(EACH, |layout| layout.entry(task));
    TaskLaunch::group(tasks, entry, |task| task.len(layout(task).map_or(1, PlaceLayout::sample_len)))
}

/// The entry point that supports everything.
const EACH: &str = "place_each";

impl PlaceTask {
    /// Returns the bytes that it writes.
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
        // Rows of bytes, or of contiguous numbers, with any number of samples per pixel.
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
        if !(copy || sums) || !whole_order {
            return EACH;
        }
        if !(interleaved || bands) || self.samples > 4 {
            return self.bands(task, converts);
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

    /// Returns the entry point for whole numbers that are aligned in memory, with any number of samples per pixel.
    fn bands(&self, task: &PlaceTask, converts: bool) -> &'static str {
        match (self.native, converts) {
            _ if !task.src.is_multiple_of(u64::from(self.native)) => EACH,
            (1, false) => "place_bands_1",
            (2, false) => "place_bands_2",
            (4, false) => "place_bands_4",
            (1, true) => "place_floats_bands_1",
            (2, true) => "place_floats_bands_2",
            (4, true) => "place_floats_bands_4",
            _ => EACH,
        }
    }
}
