//! A sequential picture of 8-bit samples (baseline and extended, Huffman codes): its checked headers and the positions
//! of its scans' data.
//!
//! Decoders need not check again whether a table exists, a component is named twice or a restart marker is missing. The
//! codes themselves are left to decoders. Other coding processes are refused by name: there may be a decoder for them.

use super::coded_data::{self, Interval};
use super::tables::{Class, HuffmanTable, HuffmanTables, Quantisation, huffman_tables, quantisation_tables};
use super::{Colours, DHT, DQT, DRI, EOI, Frame, SOS, Segment, check_inks, frame, segment_at, segments};
use crate::{StatedShape, StoredBlock};
use std::ops::Range;
use strile_engine::BlockFault;

/// Maximum data units per MCU (T.81, B.2.3).
const MOST_UNITS: u32 = 10;
/// Bits of a scan are counted in 32 bits.
const MOST_BYTES: u32 = 1 << 28;

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequentialJpeg {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Largest sampling factors of all components.
    pub factors: (u32, u32),
    /// Components in order: 1, 3 or 4.
    pub planes: Vec<Plane>,
    /// Scans; every component is in one of them.
    pub scans: Vec<Scan>,
    /// Whether the three components are Y, Cb and Cr, to be converted to RGB.
    pub is_ycbcr: bool,
}

/// A component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plane {
    /// Samples across.
    pub width: u32,
    /// Samples down.
    pub height: u32,
    /// Sampling factors, each of which divides the picture's.
    pub sampling: (u32, u32),
    /// Quantisation table.
    pub quantisation: Quantisation,
}

/// A scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Components in order, 1 to 4.
    pub parts: Vec<ScanPart>,
    /// MCUs across and down.
    pub mcus: (u32, u32),
    /// MCUs per interval, except for the last; all if there are no restarts.
    pub restart: u32,
    /// Data.
    pub data: ScanData,
}

/// Position of a scan's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanData {
    /// Bytes in the stream.
    pub range: Range<usize>,
    /// Bytes per interval, without restart markers and stuffing, none of them 0: at most 2^28 together, and at least
    /// two bits per data unit.
    pub intervals: Vec<u32>,
}

/// A component in a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanPart {
    /// Index in `SequentialJpeg::planes`.
    pub plane: usize,
    /// Its data units per MCU, across and down.
    pub units: (u32, u32),
    /// Huffman table of DC differences; its symbols are at most 15.
    pub dc: HuffmanTable,
    /// Huffman table of the other coefficients.
    pub ac: HuffmanTable,
}

impl Scan {
    /// Returns the data units per MCU, 1 to 10.
    pub fn units(&self) -> u32 {
        self.parts.iter().map(|part| part.units.0 * part.units.1).sum()
    }

    /// Returns the distinct Huffman tables, in the order of the components.
    pub fn tables(&self) -> Vec<(&HuffmanTable, Class)> {
        let mut found = Vec::with_capacity(4);
        for part in &self.parts {
            for table in [(&part.dc, Class::Dc), (&part.ac, Class::Ac)] {
                if !found.contains(&table) {
                    found.push(table);
                }
            }
        }
        found
    }

    /// Returns the data of the only scan of another stream, which is identical up to the start of this scan's data.
    pub fn data_in(&self, src: &[u8]) -> Result<ScanData, BlockFault> {
        let data = self.find_data(src, self.data.range.start)?;
        match segment_at(src, data.range.end) {
            Some(Ok(segment)) if segment.marker == EOI => Ok(data),
            _ => Err(BlockFault::corrupt("JPEG: no end after the last scan's data")),
        }
    }

    /// Returns the data of this scan from `start` on.
    ///
    /// Every interval must have at least the bits of the shortest possible codes, one for DC and one for the rest of
    /// every data unit: so the work and the memory that a header requests are bounded by the actual data.
    fn find_data(&self, src: &[u8], start: usize) -> Result<ScanData, BlockFault> {
        let too_long = || BlockFault::unsupported("JPEG: scans of more than 2^28 bytes");
        let (found, end) = coded_data::intervals(src, start).ok_or_else(too_long)?;
        let all = self.mcus.0 * self.mcus.1;
        let intervals = lens(&found, all.div_ceil(self.restart))?;
        let mut left = all;
        let may_hold_all = intervals.iter().all(|&len| {
            let mcus = self.restart.min(left);
            left -= mcus;
            u64::from(len) * 8 >= u64::from(mcus) * u64::from(self.units()) * 2
        });
        match may_hold_all {
            true => Ok(ScanData { range: start..end, intervals }),
            false => Err(BlockFault::truncated(0, 0)),
        }
    }

    /// Returns the total data units; a picture of 65535 × 65535 pixels has fewer than 2^31.
    pub fn all_units(&self) -> u32 {
        self.units() * self.mcus.0 * self.mcus.1
    }
}

/// Parses a stream and the tables it lacks; its size must equal the block's. Colour information in the stream is
/// ignored.
pub fn parse(
    src: &[u8],
    tables: Option<&[u8]>,
    block: StoredBlock<'_>,
    colours: Colours,
) -> Result<SequentialJpeg, BlockFault> {
    let frame = frame(src)?;
    match frame.marker {
        0xC0 | 0xC1 => {}
        0xC2 => return Err(BlockFault::unsupported("progressive JPEG")),
        0xC3 => return Err(BlockFault::unsupported("lossless JPEG")),
        0xC9..=0xCB => return Err(BlockFault::unsupported("arithmetic-coded JPEG")),
        other => return Err(BlockFault::unsupported(format!("JPEG process of marker {other:#04X}"))),
    }
    let count = frame.components.len();
    let (width, height) = (u32::from(frame.width), u32::from(frame.height));
    let samples = u32::try_from(count).unwrap_or(u32::MAX);
    StatedShape { width, height, samples, bits: u32::from(frame.precision) }.check(block)?;
    if frame.precision != 8 {
        return Err(BlockFault::unsupported(format!("lossy JPEG of {} bits", frame.precision)));
    }
    if !matches!(count, 1 | 3 | 4) {
        return Err(BlockFault::unsupported(format!("JPEG of {count} components")));
    }
    check_inks(src, &frame, colours)?;
    if width == 0 || height == 0 {
        return Err(BlockFault::corrupt("JPEG: a picture without pixels"));
    }
    let is_ycbcr = colours == Colours::YCbCr && count == 3;
    if is_ycbcr && frame.components.iter().map(|c| c.id).eq(*b"RGB") {
        return Err(BlockFault::unsupported("JPEG components named R, G and B in a YCbCr image"));
    }
    let (planes, scans) = Walk::new(&frame).walk(src, tables)?;
    let factors = factors(&frame);
    Ok(SequentialJpeg { width, height, factors, planes, scans, is_ycbcr })
}

/// Returns the largest sampling factors.
fn factors(frame: &Frame) -> (u32, u32) {
    let factors = frame.components.iter().map(|c| (u32::from(c.sampling.0), u32::from(c.sampling.1)));
    factors.fold((1, 1), |most, one| (most.0.max(one.0), most.1.max(one.1)))
}

/// Tables and scans found so far.
struct Walk<'a> {
    frame: &'a Frame,
    factors: (u32, u32),
    huffman: HuffmanTables,
    quantisation: [Option<Quantisation>; 4],
    restart: u32,
    planes: Vec<Option<Plane>>,
}

impl<'a> Walk<'a> {
    fn new(frame: &'a Frame) -> Self {
        Self {
            frame,
            factors: factors(frame),
            huffman: HuffmanTables::default(),
            quantisation: [None; 4],
            restart: 0,
            planes: vec![None; frame.components.len()],
        }
    }

    fn walk(mut self, src: &[u8], tables: Option<&[u8]>) -> Result<(Vec<Plane>, Vec<Scan>), BlockFault> {
        for segment in tables.into_iter().flat_map(segments) {
            self.take_tables(segment?)?;
        }
        let mut scans = Vec::new();
        let mut at = 2;
        loop {
            let segment = segment_at(src, at).ok_or_else(|| BlockFault::truncated(0, 0))??;
            at = segment.end;
            let complete = self.planes.iter().all(Option::is_some);
            match segment.marker {
                EOI => break,
                marker if complete => {
                    return Err(BlockFault::corrupt(format!(
                        "JPEG: marker {marker:#04X} among the last scan's data"
                    )));
                }
                SOS => {
                    let mut scan = self.scan(segment.body)?;
                    scan.data = scan.find_data(src, at)?;
                    at = scan.data.range.end;
                    scans.push(scan);
                }
                _ => self.take_tables(segment)?,
            }
        }
        let planes: Option<Vec<Plane>> = self.planes.into_iter().collect();
        Ok((planes.ok_or_else(|| BlockFault::corrupt("JPEG: a component has no scan"))?, scans))
    }

    fn take_tables(&mut self, segment: Segment<'_>) -> Result<(), BlockFault> {
        match (segment.marker, segment.body) {
            (DHT, body) => huffman_tables(body, &mut self.huffman),
            (DQT, body) => quantisation_tables(body, &mut self.quantisation),
            (DRI, &[high, low]) => {
                self.restart = u32::from(u16::from_be_bytes([high, low]));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Parses a scan header, without its data.
    fn scan(&mut self, header: &[u8]) -> Result<Scan, BlockFault> {
        let bad = || BlockFault::corrupt("JPEG: scan header is not valid");
        let (&count, rest) = header.split_first().ok_or_else(bad)?;
        let (specs, rest) = rest.split_at_checked(2 * usize::from(count)).ok_or_else(bad)?;
        // The rest selects coefficients: in a sequential scan all of them, whatever it states.
        if rest.len() != 3 || !(1..=4).contains(&count) {
            return Err(bad());
        }
        let mut parts = Vec::new();
        for &[id, place] in specs.as_chunks().0 {
            parts.push(self.part(id, place, count == 1)?);
        }
        let blocks = |(width, height): (u32, u32), (across, down): (u32, u32)| {
            (width.div_ceil(8 * across), height.div_ceil(8 * down))
        };
        let mcus = match parts.as_slice() {
            [alone] => {
                let plane = self.planes.get(alone.plane).and_then(Option::as_ref).ok_or_else(bad)?;
                blocks((plane.width, plane.height), (1, 1))
            }
            _ => blocks((self.frame.width.into(), self.frame.height.into()), self.factors),
        };
        let all = mcus.0 * mcus.1;
        let restart = if self.restart == 0 { all } else { self.restart.min(all) };
        let scan = Scan { parts, mcus, restart, data: ScanData { range: 0..0, intervals: Vec::new() } };
        if scan.units() > MOST_UNITS {
            return Err(BlockFault::corrupt("JPEG: more than ten data units in an MCU"));
        }
        Ok(scan)
    }

    /// Returns a component of a scan, which must not have been in another.
    fn part(&mut self, id: u8, place: u8, alone: bool) -> Result<ScanPart, BlockFault> {
        let index = self.frame.components.iter().position(|component| component.id == id);
        let named = index.and_then(|index| Some((index, self.frame.components.get(index)?)));
        let (plane, component) =
            named.ok_or_else(|| BlockFault::corrupt("JPEG: a scan names a component that is not there"))?;
        let (h, v) = (u32::from(component.sampling.0), u32::from(component.sampling.1));
        let (most_h, most_v) = self.factors;
        if !most_h.is_multiple_of(h) || !most_v.is_multiple_of(v) {
            return Err(BlockFault::unsupported("JPEG: sampling factors that do not divide the largest"));
        }
        let missing = || BlockFault::corrupt("JPEG: a scan uses a table that is not there");
        let quantisation = self.quantisation.get(usize::from(component.quantisation)).copied().flatten();
        let made = Plane {
            width: (u32::from(self.frame.width) * h).div_ceil(most_h),
            height: (u32::from(self.frame.height) * v).div_ceil(most_v),
            sampling: (h, v),
            quantisation: quantisation.ok_or_else(missing)?,
        };
        if self.planes.get_mut(plane).is_none_or(|slot| slot.replace(made).is_some()) {
            return Err(BlockFault::corrupt("JPEG: a component has two scans"));
        }
        let table = |class, number| self.huffman.get(class, number).cloned().ok_or_else(missing);
        let (dc, ac) = (table(0, place >> 4)?, table(1, place & 15)?);
        if dc.symbols.iter().any(|&symbol| symbol > 15) {
            return Err(BlockFault::corrupt("JPEG: a DC difference of more than 15 bits"));
        }
        Ok(ScanPart { plane, units: if alone { (1, 1) } else { (h, v) }, dc, ac })
    }
}

/// Returns the lengths of intervals, whose number must be `expected`, with markers that count from 0 to 7 between them.
fn lens(found: &[Interval], expected: u32) -> Result<Vec<u32>, BlockFault> {
    let in_order = found.iter().zip((0..8_u8).cycle());
    let in_order =
        in_order.filter_map(|(interval, number)| Some(interval.restart? == number)).all(|same| same);
    if found.len() as u64 != u64::from(expected) || !in_order {
        return Err(BlockFault::corrupt("JPEG: restart markers are not where they must be"));
    }
    let total: u64 = found.iter().map(|interval| u64::from(interval.len)).sum();
    if total > u64::from(MOST_BYTES) {
        return Err(BlockFault::unsupported("JPEG: scans of more than 2^28 bytes"));
    }
    if found.iter().any(|interval| interval.len == 0) {
        return Err(BlockFault::truncated(0, 0));
    }
    Ok(found.iter().map(|interval| interval.len).collect())
}
