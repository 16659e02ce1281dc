//! The tables of a batch: its pictures, their scans, and the look-up and quantisation tables that these share.

use super::abi::{JpegArgs, JpegPicture, JpegPlane, JpegScan, JpegWay, MOST_UNITS, UNIT_LEN};
use super::cut::{Cut, ScanBytes};
use super::lookup::{self, Class};
use super::{ALIGN, Batch, Picture, samples_len};
use crate::abi::bytes_of;
use crate::picture::{Placed, Room, Stop};
use std::collections::HashMap;
use std::hash::Hash;
use strile_codestream::jpeg::{self, HuffmanTable, Quantisation, Scan, ScanPart, ZIGZAG};
use strile_engine::EngineError;

/// Bytes that a picture's tables lose to alignment at most: those of its scans, and before look-up tables.
pub(super) const LOST: u64 = 256;

/// Work for one CUDA block: warps of a transform, data units side by side in each; threads of pixels, pixels in each.
const TRANSFORMED: u64 = 8 * 4;
const COLOURED: u64 = 256 * 8;
/// CUDA blocks of a picture at most.
const MOST_PARTS: u64 = 65_535;

/// The different Huffman tables of a scan, in the order in which they lie behind each other.
pub(super) fn distinct(scan: &Scan) -> Vec<(&HuffmanTable, Class)> {
    let mut found: Vec<(&HuffmanTable, Class)> = Vec::with_capacity(4);
    for part in &scan.parts {
        for one in [(&part.dc, Class::Dc), (&part.ac, Class::Ac)] {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

/// Content that is there once, however many ask for it.
struct Shared<K> {
    places: HashMap<K, usize>,
    bytes: Vec<u8>,
}

impl<K: Eq + Hash> Shared<K> {
    fn new() -> Self {
        Self { places: HashMap::new(), bytes: Vec::new() }
    }

    /// Where the content of `key` lies, a multiple of 16.
    fn place(&mut self, key: K, content: impl FnOnce() -> Vec<u16>) -> u64 {
        let bytes = &mut self.bytes;
        let at = self.places.entry(key).or_insert_with(|| {
            bytes.resize(bytes.len().next_multiple_of(16), 0);
            let at = bytes.len();
            bytes.extend_from_slice(bytes_of(&content()));
            at
        });
        *at as u64
    }
}

/// The tables of a scan: which, and where each begins.
type TableSet = Vec<(HuffmanTable, bool)>;

/// See the module.
pub(super) struct Tables<'a> {
    room: &'a Room,
    cut: Cut,
    scans: Vec<JpegScan>,
    pictures: Vec<JpegPicture>,
    lookups: Shared<TableSet>,
    quantisations: Shared<Quantisation>,
    /// The next free byte of scratch memory.
    scratch: u64,
    parts: (u64, u64),
}

impl<'a> Tables<'a> {
    pub(super) fn new(pictures: &[Placed<Picture>], room: &'a Room, cut: Cut) -> Self {
        let scans: usize = pictures.iter().map(|placed| placed.picture.scans.len()).sum();
        let mut tables = Self {
            room,
            cut,
            scans: Vec::with_capacity(scans),
            pictures: Vec::with_capacity(pictures.len()),
            lookups: Shared::new(),
            quantisations: Shared::new(),
            // Faults of all scans come first.
            scratch: (room.scratch + 4 * scans as u64).next_multiple_of(ALIGN),
            parts: (1, 1),
        };
        for placed in pictures {
            tables.add(placed);
        }
        tables
    }

    fn take(&mut self, len: u64) -> u64 {
        let at = self.scratch;
        self.scratch += len.next_multiple_of(ALIGN);
        at
    }

    fn add(&mut self, placed: &Placed<Picture>) {
        let headers = &placed.picture.headers;
        let first_scan = self.scans.len();
        let mut planes = [JpegPlane::default(); 4];
        for (scan, bytes) in headers.scans.iter().zip(&placed.picture.scans) {
            let told = self.scan(scan, bytes, placed.bytes);
            let mut first_unit = 0;
            for part in &scan.parts {
                let (across, down) = part.units;
                if let (Some(slot), Some(plane)) =
                    (planes.get_mut(part.plane), headers.planes.get(part.plane))
                {
                    *slot = JpegPlane {
                        coefficients: told.coefficients,
                        dc: told.differences,
                        mcus_across: scan.mcus.0,
                        mcu_units: told.mcu_units,
                        first_unit,
                        units_across: across,
                        units_down: down,
                        ..self.plane(plane, headers.factors)
                    };
                }
                first_unit += across * down;
            }
            self.scans.push(told);
        }
        let quads = planes
            .iter()
            .map(|plane| u64::from(plane.blocks_across.div_ceil(4)) * u64::from(plane.blocks_down));
        self.parts.0 = self.parts.0.max(quads.sum::<u64>().div_ceil(TRANSFORMED / 4));
        let eights = u64::from(headers.width.div_ceil(8)) * u64::from(placed.rows);
        self.parts.1 = self.parts.1.max(eights.div_ceil(COLOURED / 8));
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.pictures.push(JpegPicture {
            dst: placed.dst,
            width: headers.width,
            rows: placed.rows,
            components: number(headers.planes.len()),
            is_ycbcr: u32::from(headers.is_ycbcr),
            scan_count: number(headers.scans.len()),
            first_scan: number(first_scan),
            status: placed.status,
            reserved: 0,
            planes,
        });
    }

    /// What is known of a scan; look-up tables are counted from the first.
    fn scan(&mut self, scan: &Scan, bytes: &ScanBytes, at: u64) -> JpegScan {
        let units = scan.all_units();
        let mcu_units = scan.units();
        let (firsts, entries) = first_entries(scan);
        let key = distinct(scan).into_iter().map(|(table, class)| (table.clone(), class == Class::Ac));
        let tables = self.lookups.place(key.collect(), || {
            distinct(scan)
                .into_iter()
                .flat_map(|(table, class)| lookup::entries(table, class).unwrap_or_default())
                .collect()
        });
        let (mut lookups, mut components) = ([0; MOST_UNITS], 0);
        let of_units = scan.parts.iter().zip(0_u32..).zip(firsts);
        let of_units =
            of_units.flat_map(|((part, index), first)| std::iter::repeat_n((index, first), units_of(part)));
        for ((unit, slot), (index, (dc, ac))) in (0..).zip(&mut lookups).zip(of_units) {
            // In bytes: two an entry.
            *slot = 2 * (dc | ac << 16);
            components |= index << (2 * unit);
        }
        JpegScan {
            data: at + bytes.data,
            pieces: at + bytes.pieces,
            intervals: at + bytes.intervals,
            coefficients: self.take(u64::from(units) * UNIT_LEN),
            differences: self.take(u64::from(units) * 2),
            tables,
            data_len: bytes.data_len,
            piece_count: bytes.piece_count,
            table_entries: entries,
            units,
            mcu_units,
            interval_units: scan.restart * mcu_units,
            run_in: self.cut.run_in(mcu_units),
            components,
            lookups,
        }
    }

    /// What is known of a component without its scan.
    fn plane(&mut self, plane: &jpeg::Plane, factors: (u32, u32)) -> JpegPlane {
        let (across, down) = (factors.0 / plane.sampling.0.max(1), factors.1 / plane.sampling.1.max(1));
        // As libjpeg chooses: no filter across rows of one or two samples.
        let way = match (across, down, plane.width > 2) {
            (1, 1, _) => JpegWay::Same,
            (2, 1, true) => JpegWay::Across,
            (1, 2, _) => JpegWay::Down,
            (2, 2, true) => JpegWay::Both,
            _ => JpegWay::Repeated,
        };
        let columns = || {
            let mut by_column = vec![0; 64];
            for (&step, &place) in plane.quantisation.iter().zip(&ZIGZAG) {
                if let Some(slot) = by_column.get_mut(usize::from(place % 8 * 8 + place / 8)) {
                    *slot = step;
                }
            }
            by_column
        };
        JpegPlane {
            samples: self.take(samples_len(plane.width, plane.height)),
            quantisation: self.quantisations.place(plane.quantisation, columns),
            width: plane.width,
            height: plane.height,
            blocks_across: plane.width.div_ceil(8),
            blocks_down: plane.height.div_ceil(8),
            way: way as u32,
            repeats_across: across,
            repeats_down: down,
            ..JpegPlane::default()
        }
    }

    /// Writes all tables, whose addresses are known now.
    pub(super) fn write(mut self, into: &mut [u8]) -> Result<Batch, Stop> {
        let scans_at = size_of_val(self.pictures.as_slice()).next_multiple_of(16);
        let lookups_at = (scans_at + size_of_val(self.scans.as_slice())).next_multiple_of(16);
        let quantisations_at = (lookups_at + self.lookups.bytes.len()).next_multiple_of(16);
        let base = self.room.tables;
        for scan in &mut self.scans {
            scan.tables += base + lookups_at as u64;
        }
        for plane in self.pictures.iter_mut().flat_map(|picture| &mut picture.planes) {
            plane.quantisation += base + quantisations_at as u64;
        }
        let parts: [(usize, &[u8]); 4] = [
            (0, bytes_of(&self.pictures)),
            (scans_at, bytes_of(&self.scans)),
            (lookups_at, &self.lookups.bytes),
            (quantisations_at, &self.quantisations.bytes),
        ];
        let end = self.room.scratch + self.room.scratch_len;
        let too_long = |what, found: u64, expected: u64| {
            let (found, expected) = (format!("{found} bytes"), format!("at most {expected}"));
            Stop::Engine(EngineError::Mismatch { what, found, expected })
        };
        let room = into.len() as u64;
        for (at, bytes) in parts {
            let slot = into.get_mut(at..at + bytes.len());
            slot.ok_or_else(|| too_long("tables", (at + bytes.len()) as u64, room))?.copy_from_slice(bytes);
        }
        if self.scratch > end {
            return Err(too_long("working memory", self.scratch - self.room.scratch, self.room.scratch_len));
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let args = JpegArgs {
            scans: base + scans_at as u64,
            pictures: base,
            faults: self.room.scratch,
            statuses: self.room.statuses,
            scan_count: number(self.scans.len()),
            picture_count: number(self.pictures.len()),
        };
        let parts = |count: u64| u32::try_from(count.min(MOST_PARTS)).unwrap_or(1);
        Ok(Batch { args, parts: (parts(self.parts.0), parts(self.parts.1)) })
    }
}

/// Data units of a component in an MCU.
fn units_of(part: &ScanPart) -> usize {
    (part.units.0 * part.units.1) as usize
}

/// Where the tables of each component of a scan begin, DC and AC, and the entries of all.
fn first_entries(scan: &Scan) -> (Vec<(u32, u32)>, u32) {
    let tables = distinct(scan);
    let mut end = 0;
    let mut begins = Vec::with_capacity(tables.len());
    for (table, _) in &tables {
        begins.push(end);
        end += u32::try_from(lookup::len(table)).unwrap_or(0);
    }
    let begin = |one: (&HuffmanTable, Class)| {
        let found = tables.iter().position(|other| *other == one);
        found.and_then(|index| begins.get(index)).copied().unwrap_or(0)
    };
    (
        scan.parts.iter().map(|part| (begin((&part.dc, Class::Dc)), begin((&part.ac, Class::Ac)))).collect(),
        end,
    )
}
