//! The tables of a batch: its pictures, their scans, and the look-up and quantisation tables that these share.

use super::abi::{JpegArgs, JpegPicture, JpegScan};
use super::plan::{ALIGN, Keyed, TableSet, by_column};
use super::{Batch, Picture, lookup};
use crate::abi::bytes_of;
use crate::picture::{Placed, Room, Stop, too_little};
use std::collections::HashMap;
use strile_codestream::jpeg::Quantisation;

/// Work for one CUDA block: what its warps take of the transform, and its threads of pixels, four times each, as what a
/// picture is told by has to be loaded first.
const TRANSFORMED: u64 = 8 * 4;
const COLOURED: u64 = 256 * 4;
/// CUDA blocks of a picture at most.
const MOST_PARTS: u64 = 65_535;

/// Content that is there once, however many ask for it.
struct Shared<'a, T> {
    places: HashMap<&'a Keyed<T>, u64>,
    bytes: Vec<u8>,
}

impl<'a, T: Eq> Shared<'a, T> {
    fn new() -> Self {
        Self { places: HashMap::new(), bytes: Vec::new() }
    }

    /// Where the content of `key` lies, a multiple of 16.
    fn place(&mut self, key: &'a Keyed<T>, content: impl FnOnce(&T) -> Vec<u16>) -> u64 {
        let bytes = &mut self.bytes;
        *self.places.entry(key).or_insert_with(|| {
            bytes.resize(bytes.len().next_multiple_of(16), 0);
            let at = bytes.len();
            bytes.extend_from_slice(bytes_of(&content(&key.content)));
            at as u64
        })
    }
}

/// Fills the tables of a batch.
pub(super) fn lay_out(pictures: &[Placed<Picture>], room: &Room, into: &mut [u8]) -> Result<Batch, Stop> {
    let scan_count: usize = pictures.iter().map(|placed| placed.picture.plan.scans.len()).sum();
    let scans_at = (pictures.len() * size_of::<JpegPicture>()).next_multiple_of(16);
    let shared_at = (scans_at + scan_count * size_of::<JpegScan>()).next_multiple_of(16);
    let mut sets: Shared<'_, TableSet> = Shared::new();
    let mut quantisations: Shared<'_, Quantisation> = Shared::new();
    for plan in pictures.iter().map(|placed| &placed.picture.plan) {
        plan.sets.iter().for_each(|set| {
            sets.place(set, |set| {
                set.iter()
                    .flat_map(|(table, class)| lookup::entries(table, *class).unwrap_or_default())
                    .collect()
            });
        });
    }
    let quantisations_at = (shared_at + sets.bytes.len()).next_multiple_of(16);
    let mut told = Vec::with_capacity(pictures.len());
    let mut scans = Vec::with_capacity(scan_count);
    // Faults of all scans come first.
    let mut scratch = (room.scratch + 4 * scan_count as u64).next_multiple_of(ALIGN);
    let (mut quads, mut eights) = (1, 1);
    for placed in pictures {
        let plan = &placed.picture.plan;
        let mut picture = plan.picture;
        picture.dst = placed.dst;
        picture.status = placed.status;
        picture.first_scan = u32::try_from(scans.len()).unwrap_or(u32::MAX);
        for (plane, quantisation) in picture.planes.iter_mut().zip(&plan.quantisations) {
            plane.coefficients += scratch;
            plane.dc += scratch;
            plane.samples += scratch;
            plane.quantisation =
                room.tables + quantisations_at as u64 + quantisations.place(quantisation, by_column);
        }
        told.push(picture);
        for ((scan, set), bytes) in plan.scans.iter().zip(&plan.sets).zip(&placed.picture.scans) {
            scans.push(JpegScan {
                data: placed.bytes + bytes.data,
                pieces: placed.bytes + bytes.pieces,
                intervals: placed.bytes + bytes.intervals,
                data_len: bytes.data_len,
                piece_count: bytes.piece_count,
                coefficients: scratch + scan.coefficients,
                differences: scratch + scan.differences,
                tables: room.tables + shared_at as u64 + sets.places.get(set).copied().unwrap_or(0),
                ..*scan
            });
        }
        scratch += plan.scratch;
        quads = plan.quads.max(quads);
        eights = plan.eights.max(eights);
    }
    let parts: [(usize, &[u8]); 4] = [
        (0, bytes_of(&told)),
        (scans_at, bytes_of(&scans)),
        (shared_at, &sets.bytes),
        (quantisations_at, &quantisations.bytes),
    ];
    let room_len = into.len() as u64;
    for (at, bytes) in parts {
        let slot = into.get_mut(at..at + bytes.len());
        slot.ok_or_else(|| too_little("tables", (at + bytes.len()) as u64, room_len))?.copy_from_slice(bytes);
    }
    if scratch > room.scratch + room.scratch_len {
        return Err(too_little("working memory", scratch - room.scratch, room.scratch_len));
    }
    let args = JpegArgs {
        scans: room.tables + scans_at as u64,
        pictures: room.tables,
        faults: room.scratch,
        statuses: room.statuses,
        scan_count: u32::try_from(scan_count).unwrap_or(u32::MAX),
        picture_count: u32::try_from(pictures.len()).unwrap_or(u32::MAX),
    };
    let parts = |work: u64, each: u64| u32::try_from(work.div_ceil(each).min(MOST_PARTS)).unwrap_or(1);
    Ok(Batch { args, parts: (parts(quads, TRANSFORMED), parts(eights, COLOURED)) })
}
