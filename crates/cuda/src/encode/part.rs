//! Parts of pixels: the part that a block needs, and its copy from the host to the device: its samples without gaps,
//! copied by several threads if there are many.

use std::sync::{Mutex, PoisonError};
use strile_engine::{EncodeTask, OutputBox, OutputSpec, Strides, thread_builder};

/// A part of an image: a range of bands, rows and columns.
pub(crate) type Part = OutputBox;

/// Minimum bytes per thread.
const SHARE: usize = 1 << 20;
/// Maximum number of copying threads: these saturate the memory.
const THREADS: usize = 8;

/// Returns the part that a block of `samples` samples needs.
pub(crate) fn of(task: &EncodeTask, samples: u16) -> Part {
    let range = |from: u32, n: u32| (from, from.saturating_add(n));
    Part {
        bands: range(task.first_band, samples.into()),
        rows: range(task.y, task.height),
        columns: range(task.x, task.width),
    }
}

fn count((from, end): (u32, u32)) -> u32 {
    end.saturating_sub(from)
}

/// Returns bands, rows and columns.
pub(crate) fn size(part: &Part) -> (u32, u32, u32) {
    (count(part.bands), count(part.rows), count(part.columns))
}

/// Returns the bytes of the samples of a part.
pub(crate) fn len(part: &Part, spec: &OutputSpec) -> u64 {
    let (bands, rows, columns) = size(part);
    let pixels = u64::from(rows).saturating_mul(columns.into());
    pixels.saturating_mul(bands.into()).saturating_mul(spec.data_type.size() as u64)
}

/// Returns a part's shape as contiguous pixels, bands first or last as before; `None` if it exceeds the address space.
pub(crate) fn spec(part: &Part, spec: &OutputSpec) -> Option<OutputSpec> {
    let (bands, rows, columns) = size(part);
    let by_pixel = spec.bands > 1 && spec.strides.band < spec.strides.column;
    let make = if by_pixel { OutputSpec::band_last } else { OutputSpec::band_first };
    make(spec.data_type, bands, rows, columns).ok()
}

/// Returns the bytes from the first sample of an image to that of a part.
pub(crate) fn offset(part: &Part, strides: &Strides) -> Option<usize> {
    let axes = [(part.bands, strides.band), (part.rows, strides.row), (part.columns, strides.column)];
    axes.into_iter()
        .try_fold(0usize, |sum, ((from, _), stride)| sum.checked_add((from as usize).checked_mul(stride)?))
}

/// Copies a part of `src`, an image of the shape `from`, into `dst`, contiguous as in `spec`; `None` if one of them is
/// too short.
pub(crate) fn copy(src: &[u8], from: &OutputSpec, part: &Part, dst: &mut [u8], threads: usize) -> Option<()> {
    let to = spec(part, from)?;
    let dst = dst.get_mut(..to.len().ok()?)?;
    let src = src.get(offset(part, &from.strides)?..)?;
    let (bands, rows, columns) = size(part);
    let by_pixel = to.strides.band < to.strides.column;
    let across = Across {
        samples: if by_pixel { bands as usize } else { 1 },
        columns: columns as usize,
        band: from.strides.band,
        column: from.strides.column,
        size: from.data_type.size(),
    };
    let line_len = across.size.checked_mul(across.samples)?.checked_mul(across.columns)?;
    let share = dst.len().div_ceil(threads.clamp(1, THREADS)).max(SHARE);
    let lines = share.div_ceil(line_len.max(1)).max(1);
    let row_of = |line: usize| match by_pixel {
        true => line * from.strides.row,
        false => line / rows as usize * from.strides.band + line % rows as usize * from.strides.row,
    };
    let work = |first: usize, dst: &mut [u8]| {
        dst.chunks_mut(line_len.max(1))
            .enumerate()
            .try_for_each(|(line, dst)| across.copy(src.get(row_of(first + line)..)?, dst))
    };
    let dst_len = dst.len();
    if dst_len <= share {
        return work(0, dst);
    }
    let shares = Mutex::new(dst.chunks_mut(lines.checked_mul(line_len)?).enumerate());
    let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || {
        while let Some((turn, dst)) = next() {
            work(turn * lines, dst)?;
        }
        Some(())
    };
    std::thread::scope(|scope| {
        // If the system has no more threads, the existing ones do the work.
        let start = |_| thread_builder("strile-cuda-part").ok()?.spawn_scoped(scope, take).ok();
        let helpers: Vec<_> = (1..dst_len.div_ceil(lines * line_len)).map_while(start).collect();
        let mine = take();
        helpers.into_iter().fold(mine, |done, helper| done.and(helper.join().ok().flatten()))
    })
}

/// Positions of the samples of one line in the source.
struct Across {
    samples: usize,
    columns: usize,
    band: usize,
    column: usize,
    size: usize,
}

impl Across {
    fn copy(&self, src: &[u8], dst: &mut [u8]) -> Option<()> {
        let pixel = self.size * self.samples;
        if self.column == pixel && (self.samples == 1 || self.band == self.size) {
            dst.copy_from_slice(src.get(..dst.len())?);
            return Some(());
        }
        match self.size {
            1 => self.spread::<1>(src, dst),
            2 => self.spread::<2>(src, dst),
            4 => self.spread::<4>(src, dst),
            8 => self.spread::<8>(src, dst),
            _ => self.spread::<16>(src, dst),
        }
    }

    fn spread<const N: usize>(&self, src: &[u8], dst: &mut [u8]) -> Option<()> {
        let (samples, _) = dst.as_chunks_mut::<N>();
        for (column, pixel) in samples.chunks_mut(self.samples).take(self.columns).enumerate() {
            let src = src.get(column * self.column..)?;
            for (band, sample) in pixel.iter_mut().enumerate() {
                *sample = *src.get(band * self.band..)?.first_chunk::<N>()?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;

    #[test]
    fn parts_come_without_what_lies_between() {
        let strides = [
            (false, Strides { band: 9000, row: 300, column: 4 }),
            (true, Strides { band: 4, row: 301, column: 15 }),
            (true, Strides { band: 4, row: 400, column: 12 }),
        ];
        for (by_pixel, strides) in strides {
            let from = OutputSpec { data_type: DataType::F32, bands: 3, rows: 20, columns: 19, strides };
            let src: Vec<u8> = (0..251u8).cycle().take(from.len().unwrap()).collect();
            let part = Part { bands: (1, 3), rows: (2, 20), columns: (5, 18) };
            let mut want = Vec::new();
            let at = |b: usize, y: usize, x: usize| {
                let at = b * strides.band + y * strides.row + x * strides.column;
                src[at..at + 4].to_vec()
            };
            match by_pixel {
                true => (2..20).for_each(|y| {
                    (5..18).for_each(|x| (1..3).for_each(|b| want.extend(at(b, y, x))));
                }),
                false => (1..3).for_each(|b| {
                    (2..20).for_each(|y| (5..18).for_each(|x| want.extend(at(b, y, x))));
                }),
            }
            let mut found = vec![0; want.len()];
            copy(&src, &from, &part, &mut found, 4).unwrap();
            assert_eq!(found, want);
            assert_eq!(len(&part, &from), want.len() as u64);
            assert_eq!(copy(&src[..src.len() - 1200], &from, &part, &mut found, 4), None);
        }
    }

    #[test]
    fn many_threads_copy_what_one_does() {
        let from = OutputSpec::band_first(DataType::U16, 2, 1700, 1100).unwrap();
        let src: Vec<u8> = (0..253u8).cycle().take(from.len().unwrap()).collect();
        let part = Part { bands: (0, 2), rows: (3, 1699), columns: (1, 1100) };
        let bytes = usize::try_from(len(&part, &from)).unwrap();
        let mut found = [vec![0; bytes], vec![0; bytes]];
        for (threads, dst) in [1, 5].into_iter().zip(&mut found) {
            copy(&src, &from, &part, dst, threads).unwrap();
        }
        assert!(found[0] == found[1]);
        assert_eq!(found[0][..2], src[3 * 2200 + 2..][..2]);
    }
}
