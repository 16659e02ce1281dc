//! The headers of a codestream and the positions of its tile-parts (ISO 15444-1, A.3 to A.7): coding parameters of each
//! tile, positions of its packets, and its packed packet headers.

use super::fields::Fields;
use super::markers::Parameters;
use super::memory::Memory;
use super::size::Size;
use std::ops::Range;
use strile_engine::{BlockFault, FaultKind};

const SOC: u16 = 0xFF4F;
const CAP: u16 = 0xFF50;
const SIZ: u16 = 0xFF51;
const COD: u16 = 0xFF52;
const COC: u16 = 0xFF53;
const QCD: u16 = 0xFF5C;
const QCC: u16 = 0xFF5D;
const RGN: u16 = 0xFF5E;
const POC: u16 = 0xFF5F;
const PPM: u16 = 0xFF60;
const PPT: u16 = 0xFF61;
const SOT: u16 = 0xFF90;
const SOD: u16 = 0xFF93;
const EOC: u16 = 0xFFD9;
/// Bytes of a tile-part without packets: SOT with its segment, and SOD.
const LEAST_TILE_PART: usize = 14;
/// The only supported extension in CAP, part 15.
const PART_15: u32 = 1 << 17;

/// Headers of a tile, known before its packets are read.
#[derive(Debug, Default)]
pub(super) struct TileParts {
    pub(super) parameters: Parameters,
    /// Positions of its packets in the codestream, in order.
    pub(super) packets: Vec<Range<usize>>,
    /// Its packet headers if they do not lie in the packets.
    pub(super) headers: Option<Vec<u8>>,
    /// Whether the last part extends to the end of the codestream: EOC follows its packets.
    pub(super) open: bool,
}

/// All headers.
#[derive(Debug)]
pub(super) struct Headers {
    pub(super) size: Size,
    pub(super) parameters: Parameters,
    /// One entry per tile, each with at least one part.
    pub(super) tiles: Vec<TileParts>,
}

/// Reads the SIZ segment, which comes first.
pub(super) fn size(codestream: &[u8]) -> Result<Size, BlockFault> {
    let mut markers = Markers { codestream, at: 0 };
    if markers.marker()? != SOC || markers.marker()? != SIZ {
        return Err(BlockFault::corrupt("JPEG 2000: no SIZ segment at the beginning"));
    }
    Size::read(markers.segment()?)
}

/// Reads everything but the packets. `check` receives the size before anything is allocated for it.
pub(super) fn headers(
    codestream: &[u8],
    memory: &mut Memory,
    check: impl FnOnce(&Size) -> Result<(), BlockFault>,
) -> Result<Headers, BlockFault> {
    let mut markers = Markers { codestream, at: 0 };
    let size = size(codestream)?;
    check(&size)?;
    if size.tiles().saturating_mul(LEAST_TILE_PART) > codestream.len() {
        return Err(ended(codestream, &format!("{} tiles are too many for its bytes", size.tiles())));
    }
    let components = size.components.len();
    let mut parameters = Parameters::default();
    let mut packed = Vec::new();
    // SOC and SIZ, which `size` read.
    for _ in 0..2 {
        markers.marker()?;
    }
    markers.segment()?;
    loop {
        match markers.marker()? {
            SOT => break,
            SIZ => return Err(BlockFault::corrupt("JPEG 2000: a second SIZ segment")),
            CAP => check_extensions(markers.segment()?)?,
            PPM => {
                memory.reserve(&mut packed, 1)?;
                packed.push(numbered(markers.segment()?)?);
            }
            marker => read_parameters(&mut parameters, marker, &mut markers, (components, memory))?,
        }
    }
    let is_packed = !packed.is_empty();
    let packed = joined(packed, memory)?;
    let mut packed = is_packed.then_some(Fields(&packed));
    let mut tiles = Vec::new();
    memory.reserve(&mut tiles, size.tiles())?;
    tiles.resize_with(size.tiles(), TileParts::default);
    loop {
        tile_part(&mut markers, &mut tiles, packed.as_mut(), (components, memory))?;
        // All packets are checked later, so a stream without EOC has lost nothing.
        if markers.at == codestream.len() {
            break;
        }
        match markers.marker()? {
            SOT => {}
            EOC => break,
            marker => {
                return Err(BlockFault::corrupt(format!(
                    "JPEG 2000: expected a tile-part at byte {}, got marker {marker:04X}",
                    markers.at - 2
                )));
            }
        }
    }
    if let Some(missing) = tiles.iter().position(|tile| tile.packets.is_empty()) {
        return Err(ended(codestream, &format!("tile {missing} of {} is missing", tiles.len())));
    }
    if let Some(left) = packed.filter(|packed| !packed.0.is_empty()) {
        return Err(BlockFault::corrupt(format!(
            "JPEG 2000: {} bytes of PPM segments after those of the last tile-part",
            left.0.len()
        )));
    }
    Ok(Headers { size, parameters, tiles })
}

/// Returns the bytes of numbered segments in numerical order.
fn joined(mut segments: Vec<(u8, &[u8])>, memory: &mut Memory) -> Result<Vec<u8>, BlockFault> {
    segments.sort_by_key(|&(number, _)| number);
    let mut bytes = Vec::new();
    memory.reserve(&mut bytes, segments.iter().map(|(_, bytes)| bytes.len()).sum())?;
    segments.iter().for_each(|(_, own)| bytes.extend_from_slice(own));
    Ok(bytes)
}

/// Reads a tile-part from after its SOT marker. If packet headers are packed in the main header, those of every
/// tile-part must be there.
fn tile_part(
    markers: &mut Markers<'_>,
    tiles: &mut [TileParts],
    packed: Option<&mut Fields<'_>>,
    (components, memory): (usize, &mut Memory),
) -> Result<(), BlockFault> {
    let codestream = markers.codestream;
    let start = markers.at - 2;
    let mut fields = Fields(markers.segment()?);
    let (Some(index), Some(len), Some(part)) = (fields.u16(), fields.u32(), fields.u8()) else {
        return Err(BlockFault::corrupt("JPEG 2000: SOT segment cut short"));
    };
    let tile = tiles
        .get_mut(usize::from(index))
        .ok_or_else(|| BlockFault::corrupt(format!("JPEG 2000: tile-part of unknown tile {index}")))?;
    if usize::from(part) != tile.packets.len() || tile.open {
        return Err(BlockFault::corrupt(format!(
            "JPEG 2000: expected part {} of tile {index}, got part {part}",
            tile.packets.len()
        )));
    }
    let end = match len as usize {
        0 => codestream.len(),
        len if len >= LEAST_TILE_PART => start + len,
        _ => return Err(BlockFault::corrupt(format!("JPEG 2000: a part of tile {index} has {len} bytes"))),
    };
    if end > codestream.len() {
        return Err(ended(codestream, &format!("part {part} of tile {index} goes on to byte {end}")));
    }
    tile.open = len == 0;
    let mut moved = Vec::new();
    loop {
        match markers.marker()? {
            SOD => break,
            PPT => {
                let segment = markers.segment()?;
                memory.reserve(&mut moved, 1)?;
                moved.push(numbered(segment)?);
            }
            COD | COC | QCD | QCC if part != 0 => {
                return Err(BlockFault::corrupt(format!(
                    "JPEG 2000: part {part} of tile {index} is coded anew"
                )));
            }
            SOC | SIZ | CAP | PPM | SOT | EOC => {
                return Err(BlockFault::corrupt("JPEG 2000: a marker that a tile-part cannot have"));
            }
            marker => read_parameters(&mut tile.parameters, marker, markers, (components, memory))?,
        }
    }
    if markers.at > end {
        return Err(BlockFault::corrupt(format!(
            "JPEG 2000: the header of tile {index} is longer than its part"
        )));
    }
    if packed.is_some() && !moved.is_empty() {
        return Err(BlockFault::corrupt(format!(
            "JPEG 2000: PPM segments, and PPT segments of tile {index}"
        )));
    }
    if let Some(packed) = packed {
        let found = packed.0.len();
        let headers = packed.u32().and_then(|len| packed.take(len as usize)).ok_or_else(|| {
            BlockFault::corrupt(format!(
                "JPEG 2000: PPM segments end before part {part} of tile {index}, {found} bytes left for it"
            ))
        })?;
        let all = tile.headers.get_or_insert_default();
        memory.reserve(all, headers.len())?;
        all.extend_from_slice(headers);
    }
    if !moved.is_empty() {
        let headers = joined(moved, memory)?;
        let all = tile.headers.get_or_insert_default();
        memory.reserve(all, headers.len())?;
        all.extend_from_slice(&headers);
    }
    memory.reserve(&mut tile.packets, 1)?;
    tile.packets.push(markers.at..end);
    markers.at = end;
    Ok(())
}

/// Reads a segment that is allowed in main headers and tile-parts, or skips it.
fn read_parameters(
    parameters: &mut Parameters,
    marker: u16,
    markers: &mut Markers<'_>,
    (components, memory): (usize, &mut Memory),
) -> Result<(), BlockFault> {
    match marker {
        COD => parameters.read_cod(markers.segment()?),
        COC => parameters.read_coc(markers.segment()?, components, memory),
        QCD => parameters.read_qcd(markers.segment()?, memory),
        QCC => parameters.read_qcc(markers.segment()?, components, memory),
        POC => parameters.read_poc(markers.segment()?, components),
        RGN => Err(BlockFault::unsupported("JPEG 2000: a region of interest")),
        0xFF70..=0xFF7F => Err(BlockFault::unsupported(format!("JPEG 2000: segment {marker:04X} of part 2"))),
        // Reserved markers without a segment.
        0xFF30..=0xFF3F => Ok(()),
        0xFF40..=0xFF6F => markers.segment().map(drop),
        _ => Err(BlockFault::corrupt(format!(
            "JPEG 2000: expected a marker segment at byte {}, got {marker:04X}",
            markers.at - 2
        ))),
    }
}

fn check_extensions(body: &[u8]) -> Result<(), BlockFault> {
    let parts = Fields(body).u32().ok_or_else(|| BlockFault::corrupt("JPEG 2000: CAP segment cut short"))?;
    match parts & !PART_15 {
        0 => Ok(()),
        other => Err(BlockFault::unsupported(format!("JPEG 2000: extensions {other:08X}"))),
    }
}

/// Splits a segment into its number among its kind and the rest.
fn numbered(body: &[u8]) -> Result<(u8, &[u8]), BlockFault> {
    let (&number, bytes) =
        body.split_first().ok_or_else(|| BlockFault::corrupt("JPEG 2000: PPM or PPT segment cut short"))?;
    Ok((number, bytes))
}

pub(super) fn ended(codestream: &[u8], detail: &str) -> BlockFault {
    BlockFault {
        kind: FaultKind::InputTruncated,
        found: 0,
        expected: 0,
        detail: format!("JPEG 2000: the stream ends after {} bytes: {detail}", codestream.len()).into(),
    }
}

/// Reads markers and their segments.
struct Markers<'a> {
    codestream: &'a [u8],
    at: usize,
}

impl<'a> Markers<'a> {
    fn number(&mut self) -> Result<u16, BlockFault> {
        let bytes = self.codestream.get(self.at..).and_then(|rest| rest.first_chunk());
        let &bytes = bytes.ok_or_else(|| ended(self.codestream, "expected a marker"))?;
        self.at += 2;
        Ok(u16::from_be_bytes(bytes))
    }

    fn marker(&mut self) -> Result<u16, BlockFault> {
        self.number()
    }

    fn segment(&mut self) -> Result<&'a [u8], BlockFault> {
        let len = usize::from(self.number()?);
        let Some(body) = len.checked_sub(2) else {
            return Err(BlockFault::corrupt(format!(
                "JPEG 2000: a segment of {len} bytes at {}",
                self.at - 2
            )));
        };
        let end = self.at + body;
        let segment = self.codestream.get(self.at..end);
        let segment = segment.ok_or_else(|| ended(self.codestream, "a marker segment goes on"))?;
        self.at = end;
        Ok(segment)
    }
}
