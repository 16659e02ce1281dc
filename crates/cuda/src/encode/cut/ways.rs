//! Choice of the kernel entry point for a task, and its launch.
//!
//! Every path through `kernels/cut/cut.cu` has an entry point, whose file states its requirements; `cut_each` supports
//! all samples except those of one bit, `cut_bits` those.

use super::{CutTask, Recipe};
use crate::launch::TaskLaunch;

/// Sorts tasks by entry point and returns the launches.
pub fn launches(tasks: &mut [CutTask], recipes: &[Recipe]) -> Vec<TaskLaunch> {
    let entry = |task: &CutTask| recipes.get(task.recipe as usize).map_or(EACH, |recipe| recipe.entry(task));
    TaskLaunch::group(tasks, entry, |task| u64::from(task.len))
}

/// The entry point that supports everything.
const EACH: &str = "cut_each";

impl Recipe {
    fn entry(&self, task: &CutTask) -> &'static str {
        if self.bits != 0 {
            return "cut_bits";
        }
        let (size, samples) = (u32::from(self.size), self.samples);
        let adjacent = samples == 1 || task.band_stride == u64::from(size);
        let interleaved = adjacent && task.column_stride == u64::from(size) * u64::from(samples);
        if self.predictor == 3 {
            let words = samples <= 4 && self.row_samples.is_multiple_of(4);
            return match size {
                _ if !interleaved || !words => EACH,
                2 => "cut_planes_2",
                4 => "cut_planes_4",
                8 => "cut_planes_8",
                _ => EACH,
            };
        }
        if interleaved {
            return match (self.predictor, size, samples) {
                (1, ..) => "cut_runs",
                (2, 1, 1) => "cut_rows_1_1",
                (2, 1, 2) => "cut_rows_1_2",
                (2, 1, 3) => "cut_rows_1_3",
                (2, 1, 4) => "cut_rows_1_4",
                (2, 2, 1) => "cut_rows_2_1",
                (2, 2, 2) => "cut_rows_2_2",
                (2, 2, 3) => "cut_rows_2_3",
                (2, 2, 4) => "cut_rows_2_4",
                (2, 4, 1) => "cut_rows_4_1",
                (2, 4, 2) => "cut_rows_4_2",
                (2, 4, 3) => "cut_rows_4_3",
                (2, 4, 4) => "cut_rows_4_4",
                (2, 8, 1) => "cut_rows_8_1",
                _ => EACH,
            };
        }
        // Bands of which a lane takes 16 bytes each.
        let whole = size <= 4 && self.width.is_multiple_of(16 / size.max(1));
        let whole_order = self.swap == 0 || u32::from(self.swap) == size;
        if task.column_stride != u64::from(size) || !whole || !whole_order {
            return EACH;
        }
        match (size, samples) {
            (1, 2) => "cut_bands_1_2",
            (1, 3) => "cut_bands_1_3",
            (1, 4) => "cut_bands_1_4",
            (2, 2) => "cut_bands_2_2",
            (2, 3) => "cut_bands_2_3",
            (2, 4) => "cut_bands_2_4",
            (4, 2) => "cut_bands_4_2",
            (4, 3) => "cut_bands_4_3",
            (4, 4) => "cut_bands_4_4",
            _ => EACH,
        }
    }
}
