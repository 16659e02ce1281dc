//! The tables of a batch: its pictures, their scans, and the shared look-up and quantisation tables.

use super::abi::{JpegArgs, JpegPicture, JpegScan};
use super::plan::{ALIGN, Keyed};
use super::{Batch, JpegStream};
use crate::abi::bytes_of;
use crate::decode::picture::{Placed, Room, Stop, too_little};
use std::collections::HashMap;

/// Work items per CUDA block: the transforms of its warps, and the pixels of its threads, four times each, because the
/// description of a picture has to be loaded first.
const TRANSFORMED: u64 = 8 * 4;
const COLOURED: u64 = 256 * 4;
/// Maximum CUDA blocks per picture.
const MOST_PARTS: u64 = 65_535;

/// Deduplicated tables.
struct Shared<'a, 'b> {
    places: HashMap<&'a Keyed, u64>,
    /// Destination.
    room: &'b mut [u8],
    used: usize,
}

impl<'a> Shared<'a, '_> {
    /// Returns the offset of a table, a multiple of 16 like their lengths; past the end of the room if it does not fit.
    fn place(&mut self, key: &'a Keyed) -> u64 {
        let Self { places, room, used } = self;
        *places.entry(key).or_insert_with(|| {
            let at = *used;
            let bytes = bytes_of(&key.table);
            if let Some(slot) = room.get_mut(at..at + bytes.len()) {
                slot.copy_from_slice(bytes);
            }
            *used = at + bytes.len();
            at as u64
        })
    }
}

/// Fills the tables of a batch.
pub(super) fn lay_out(pictures: &[Placed<JpegStream>], room: &Room, into: &mut [u8]) -> Result<Batch, Stop> {
    let scan_count: usize = pictures.iter().map(|placed| placed.picture.plan.scans.len()).sum();
    let scans_at = (pictures.len() * size_of::<JpegPicture>()).next_multiple_of(16);
    let shared_at = (scans_at + scan_count * size_of::<JpegScan>()).next_multiple_of(16);
    let room_len = into.len();
    let (structs, rest) = into
        .split_at_mut_checked(shared_at)
        .ok_or_else(|| too_little("tables", shared_at as u64, room_len as u64))?;
    let mut shared = Shared { places: HashMap::new(), room: rest, used: 0 };
    let tables = room.tables + shared_at as u64;
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
            plane.quantisation = tables + shared.place(quantisation);
        }
        told.push(picture);
        for ((scan, lookups), bytes) in plan.scans.iter().zip(&plan.lookups).zip(&placed.picture.scans) {
            scans.push(JpegScan {
                data: placed.bytes + bytes.data,
                pieces: placed.bytes + bytes.pieces,
                intervals: placed.bytes + bytes.intervals,
                data_len: bytes.data_len,
                piece_count: bytes.piece_count,
                coefficients: scratch + scan.coefficients,
                differences: scratch + scan.differences,
                tables: tables + shared.place(lookups),
                ..*scan
            });
        }
        scratch += plan.scratch;
        quads = plan.quads.max(quads);
        eights = plan.eights.max(eights);
    }
    if shared_at + shared.used > room_len {
        return Err(too_little("tables", (shared_at + shared.used) as u64, room_len as u64));
    }
    for (at, bytes) in [(0, bytes_of(&told)), (scans_at, bytes_of(&scans))] {
        if let Some(slot) = structs.get_mut(at..at + bytes.len()) {
            slot.copy_from_slice(bytes);
        }
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
