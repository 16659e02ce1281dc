//! What kernels are told of a picture, made where it is parsed: all but the addresses of its memory, which are offsets
//! until it has a place, and where its data lie. So the thread that lays out a batch only adds, and pictures of the same
//! headers share it.

use super::abi::{JpegPicture, JpegPlane, JpegScan, JpegWay, MOST_UNITS, TABLE_ENTRIES, UNIT_LEN};
use super::cut::Cut;
use super::lookup;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use strile_codestream::jpeg::{
    Class, HuffmanTable, Plane, Quantisation, Scan, ScanPart, SequentialJpeg, ZIGZAG,
};
use strile_engine::BlockFault;

/// Addresses and lengths in scratch memory are multiples of it.
pub(super) const ALIGN: u64 = 256;

/// A table that pictures may share, with a hash of what it was made of: tables are compared only where that is the same.
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
    /// Addresses of scratch memory from the picture's own; of quantisations none.
    pub(super) picture: JpegPicture,
    /// Addresses of scratch memory from the picture's own; of tables none, nor of data.
    pub(super) scans: Vec<JpegScan>,
    /// Of each scan: its look-up tables, one behind the other.
    pub(super) lookups: Vec<Keyed>,
    /// Of each component.
    pub(super) quantisations: Vec<Keyed>,
    /// Scratch memory, a multiple of 256.
    pub(super) scratch: u64,
    /// Work of the transform, four data units each, and of pixels, eight each.
    pub(super) quads: u64,
    pub(super) eights: u64,
}

/// Takes the next bytes of scratch memory.
fn take(scratch: &mut u64, len: u64) -> u64 {
    let at = *scratch;
    *scratch += len.next_multiple_of(ALIGN);
    at
}

impl Plan {
    /// The plan of a picture of which `rows` rows are wanted.
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

    /// Bytes of tables, with those that alignment loses.
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
            // In bytes: two an entry.
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

/// Bytes of the samples of a component, in whole data units.
fn samples_len(plane: &Plane) -> u64 {
    let whole = |side: u32| u64::from(side.div_ceil(8)) * 8;
    whole(plane.width) * whole(plane.height)
}

/// Data units of a component in an MCU.
fn units_of(part: &ScanPart) -> usize {
    (part.units.0 * part.units.1) as usize
}

/// What is known of a component without its scan.
fn plane_of(plane: &Plane, factors: (u32, u32)) -> JpegPlane {
    let (across, down) = (factors.0 / plane.sampling.0.max(1), factors.1 / plane.sampling.1.max(1));
    // As libjpeg chooses: no filter across rows of one or two samples.
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

/// A quantisation as kernels have it: column by column.
fn by_column(quantisation: &Quantisation) -> Keyed {
    let mut by_column = vec![0; 64];
    for (&step, &place) in quantisation.iter().zip(&ZIGZAG) {
        if let Some(slot) = by_column.get_mut(usize::from(place % 8 * 8 + place / 8)) {
            *slot = step;
        }
    }
    Keyed::new(quantisation, by_column)
}
