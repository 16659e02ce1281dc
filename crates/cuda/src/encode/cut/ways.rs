//! Which entry point of the kernel takes a task, and the shape of its launch.
//!
//! Every way through `kernels/cut.cu` has an entry point, whose file says what it needs; `cut_each` takes all but samples
//! of one bit, `cut_bits` those.

use super::{CutTask, Recipe};
use std::ops::Range;

/// Packed bytes that a CUDA block should have to write.
const PART: u64 = 32 << 10;

/// Tasks that one entry point takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The entry point.
    pub entry: &'static str,
    /// Which of the tasks.
    pub tasks: Range<usize>,
    /// Packed bytes of the largest of them.
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

/// Sorts tasks by the entry points that take them, and says which takes which.
pub fn launches(tasks: &mut [CutTask], recipes: &[Recipe]) -> Vec<Launch> {
    let entry = |task: &CutTask| recipes.get(task.recipe as usize).map_or(EACH, |recipe| recipe.entry(task));
    tasks.sort_by_key(entry);
    let mut launches: Vec<Launch> = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let (entry, len) = (entry(task), u64::from(task.len));
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
