//! Description of a picture for kernels, made when it is parsed. Addresses are offsets until the picture's memory and
//! data are placed. The thread that lays out a batch only adds to them, and pictures with the same headers share the
//! description.

use super::abi::{JpegPicture, JpegPlane, JpegScan, JpegWay, MOST_UNITS, TABLE_ENTRIES, UNIT_LEN};
use super::cut::Cut;
use super::lookup;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use strile_codestream::jpeg::{
    Class, HuffmanTable, Plane, Quantisation, Scan, ScanPart, SequentialJpeg, ZIGZAG,
};
use strile_engine::BlockFault;

/// Alignment of addresses and lengths in scratch memory.
pub(super) const ALIGN: u64 = 256;

/// A table that pictures may share, with a hash of its source: tables are compared only if hashes are equal.
#[derive(Debug)]
pub(super) struct Keyed {
    hash: u64,
    pub(super) table: Vec<u16>,
}

impl Keyed {
    fn new(made_of: impl Hash, table: Vec<u16>) -> Self {
        Self { hash: BuildHasherDefault::<DefaultHasher>::default().hash_one(made_of), table }
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.table == other.table
    }
}

impl Eq for Keyed {}

impl Hash for Keyed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The description of a picture for the kernels, without the addresses of its memory.
#[derive(Debug)]
pub(super) struct Plan {
    /// Scratch addresses are relative to the picture's own; quantisation addresses are not set.
    pub(super) picture: JpegPicture,
    /// Scratch addresses are relative to the picture's own; addresses of tables and data are not set.
    pub(super) scans: Vec<JpegScan>,
    /// Look-up tables per scan, concatenated.
    pub(super) lookups: Vec<Keyed>,
    /// Quantisation table per component.
    pub(super) quantisations: Vec<Keyed>,
    /// Bytes of scratch memory, a multiple of 256.
    pub(super) scratch: u64,
    /// Work items: of the transform, four data units each, and of pixels, eight each.
    pub(super) quads: u64,
    pub(super) eights: u64,
}

/// Takes the next `len` bytes of scratch memory and returns their offset.
fn take(scratch: &mut u64, len: u64) -> u64 {
    let at = *scratch;
    *scratch += len.next_multiple_of(ALIGN);
    at
}

impl Plan {
    /// Returns the plan of a picture of which `rows` rows are requested.
    pub(super) fn new(headers: &SequentialJpeg, rows: u32, cut: Cut) -> Result<Self, BlockFault> {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut plan = Self {
            picture: JpegPicture {
                width: headers.width,
                rows,
                components: number(headers.planes.len()),
                is_ycbcr: u32::from(headers.is_ycbcr),
                scan_count: number(headers.scans.len()),
                ..JpegPicture::default()
            },
            scans: Vec::with_capacity(headers.scans.len()),
            lookups: Vec::with_capacity(headers.scans.len()),
            quantisations: headers.planes.iter().map(|plane| by_column(&plane.quantisation)).collect(),
            scratch: 0,
            quads: 0,
            eights: u64::from(headers.width.div_ceil(8)) * u64::from(rows),
        };
        for scan in &headers.scans {
            plan.add(headers, scan, cut)?;
        }
        for plane in &plan.picture.planes {
            plan.quads += u64::from(plane.blocks_across.div_ceil(4)) * u64::from(plane.blocks_down);
        }
        Ok(plan)
    }

    /// Returns the bytes of tables, alignment loss included.
    pub(super) fn tables(&self) -> u64 {
        let entries: u64 = self.scans.iter().map(|scan| u64::from(scan.table_entries)).sum();
        let structs = size_of::<JpegPicture>() + self.scans.len() * size_of::<JpegScan>();
        let lost = 16 * (self.scans.len() + 4);
        2 * entries + (structs + lost + self.quantisations.len() * size_of::<Quantisation>()) as u64
    }

    fn add(&mut self, headers: &SequentialJpeg, scan: &Scan, cut: Cut) -> Result<(), BlockFault> {
        let told = self.scan(scan, cut)?;
        let mut first_unit = 0;
        for part in &scan.parts {
            let (across, down) = part.units;
            let planes = self.picture.planes.get_mut(part.plane).zip(headers.planes.get(part.plane));
            if let Some((slot, plane)) = planes {
                *slot = JpegPlane {
                    coefficients: told.coefficients,
                    dc: told.differences,
                    samples: take(&mut self.scratch, samples_len(plane)),
                    mcus_across: scan.mcus.0,
                    mcu_units: told.mcu_units,
                    first_unit,
                    units_across: across,
                    units_down: down,
                    ..plane_of(plane, headers.factors)
                };
            }
            first_unit += across * down;
        }
        self.scans.push(told);
        Ok(())
    }

    fn scan(&mut self, scan: &Scan, cut: Cut) -> Result<JpegScan, BlockFault> {
        let tables = scan.tables();
        let mut entries = Vec::with_capacity(TABLE_ENTRIES);
        let mut begins = Vec::with_capacity(tables.len());
        for &(table, class) in &tables {
            begins.push(u32::try_from(entries.len()).unwrap_or(u32::MAX));
            lookup::add_entries(table, class, &mut entries)
                .filter(|()| entries.len() <= TABLE_ENTRIES)
                .ok_or_else(|| BlockFault::unsupported("JPEG: Huffman tables too large for kernels"))?;
        }
        let begin = |table: &HuffmanTable, class: Class| {
            let found = tables.iter().position(|&known| known == (table, class));
            found.and_then(|index| begins.get(index)).copied().unwrap_or(0)
        };
        let (mut lookups, mut components) = ([0; MOST_UNITS], 0);
        let of_units = scan.parts.iter().zip(0_u32..).flat_map(|(part, index)| {
            // In bytes: two per entry.
            let lookup = 2 * (begin(&part.dc, Class::Dc) | begin(&part.ac, Class::Ac) << 16);
            std::iter::repeat_n((index, lookup), units_of(part))
        });
        for ((unit, slot), (index, lookup)) in (0..).zip(&mut lookups).zip(of_units) {
            *slot = lookup;
            components |= index << (2 * unit);
        }
        let table_entries = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        self.lookups.push(Keyed::new(&tables, entries));
        let units = scan.all_units();
        let mcu_units = scan.units();
        Ok(JpegScan {
            coefficients: take(&mut self.scratch, u64::from(units) * UNIT_LEN),
            differences: take(&mut self.scratch, u64::from(units) * 2),
            table_entries,
            units,
            mcu_units,
            interval_units: scan.restart * mcu_units,
            run_in: cut.run_in(mcu_units),
            components,
            lookups,
            ..JpegScan::default()
        })
    }
}

/// Returns the bytes of a component's samples, in whole data units.
fn samples_len(plane: &Plane) -> u64 {
    let whole = |side: u32| u64::from(side.div_ceil(8)) * 8;
    whole(plane.width) * whole(plane.height)
}

/// Returns the data units of a component per MCU.
fn units_of(part: &ScanPart) -> usize {
    (part.units.0 * part.units.1) as usize
}

/// Returns the description of a component as far as it is independent of the scan.
fn plane_of(plane: &Plane, factors: (u32, u32)) -> JpegPlane {
    let (across, down) = (factors.0 / plane.sampling.0.max(1), factors.1 / plane.sampling.1.max(1));
    // As in libjpeg: no filter across rows of one or two samples.
    let way = match (across, down, plane.width > 2) {
        (1, 1, _) => JpegWay::Same,
        (2, 1, true) => JpegWay::Across,
        (1, 2, _) => JpegWay::Down,
        (2, 2, true) => JpegWay::Both,
        _ => JpegWay::Repeated,
    };
    JpegPlane {
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

/// Returns a quantisation table in the order of kernels: column by column.
fn by_column(quantisation: &Quantisation) -> Keyed {
    let mut by_column = vec![0; 64];
    for (&step, &place) in quantisation.iter().zip(&ZIGZAG) {
        if let Some(slot) = by_column.get_mut(usize::from(place % 8 * 8 + place / 8)) {
            *slot = step;
        }
    }
    Keyed::new(quantisation, by_column)
}
