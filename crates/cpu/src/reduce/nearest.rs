//! Nearest: takes the top left one of two by two pixels, of any type, and its mask.

use super::Rows;
use super::part::{Group, Part};
use std::ops::Range;

/// Computes rows of a part.
pub(super) fn rows(part: &Part<'_>, rows: Range<u32>) -> Rows {
    let mask = part.mask().map(|mask| {
        let mut picked = picked_rows(&mask, rows.clone());
        for sample in &mut picked {
            *sample = if *sample == 0 { 0 } else { 255 };
        }
        picked
    });
    Rows { pixels: picked_rows(part, rows), mask }
}

fn picked_rows(part: &Part<'_>, rows: Range<u32>) -> Vec<u8> {
    let mut picked = Vec::with_capacity(part.row_len() * rows.len());
    let mut scratch = Vec::new();
    for group in part.groups() {
        for row in rows.clone() {
            pick(part.row(group, row * 2, &mut scratch), pixel_len(part, group), &mut picked);
        }
    }
    picked
}

fn pixel_len(part: &Part<'_>, group: Group) -> usize {
    group.count * part.data_type().size()
}

/// Appends every second pixel of `row`, starting with the first.
fn pick(row: &[u8], pixel: usize, picked: &mut Vec<u8>) {
    match pixel {
        1 => pick_sized::<1, 2>(row, picked),
        2 => pick_sized::<2, 4>(row, picked),
        3 => pick_sized::<3, 6>(row, picked),
        4 => pick_sized::<4, 8>(row, picked),
        6 => pick_sized::<6, 12>(row, picked),
        8 => pick_sized::<8, 16>(row, picked),
        _ => row.chunks(pixel).step_by(2).for_each(|pixel| picked.extend_from_slice(pixel)),
    }
}

fn pick_sized<const PIXEL: usize, const PAIR: usize>(row: &[u8], picked: &mut Vec<u8>) {
    let (pairs, last) = row.as_chunks::<PAIR>();
    let start = picked.len();
    picked.resize(start + pairs.len() * PIXEL, 0);
    if let Some(new) = picked.get_mut(start..) {
        for (pixel, pair) in new.as_chunks_mut::<PIXEL>().0.iter_mut().zip(pairs) {
            if let Some(first) = pair.first_chunk() {
                *pixel = *first;
            }
        }
    }
    // The last pixel of an odd row has no neighbour.
    picked.extend_from_slice(last);
}
