//! Parses a stream to all its code-blocks: headers first, then the packets tile by tile.

use super::boxes::place;
use super::geometry::{Resolution, TileComponent, places, resolutions_len, tile_component};
use super::header_bits::Wrong;
use super::markers::{General, Holding};
use super::memory::Memory;
use super::packets::{Source, TileState};
use super::progression::{Place, Volume, walk};
use super::segments::{NONE, collect};
use super::size::Size;
use super::tile_parts::{Headers, TileParts, ended, headers};
use super::{CodeBlock, Codestream, Colour, Component, Plane, Rect, Tile};
use strile_engine::BlockFault;

/// Requested resolution and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of highest resolutions to discard.
    pub reduce: u8,
    /// Maximum samples of all components together, at the kept resolution.
    pub most_samples: u64,
    /// Maximum bytes of memory for parsing, including the result.
    pub memory: u64,
}

/// Memory that any stream may take, and additionally per component: its resolutions exist even if it has few samples.
const SPARE: u64 = 64 << 10;
const SPARE_EACH: u64 = 4 << 10;
/// Maximum memory that small pictures may take for their samples, however small their code-blocks.
const SMALL: u64 = 64 << 20;

impl Limits {
    /// Returns enough memory for any reasonable stream. A code-block takes about 120 bytes with all its records, so
    /// this allows one for every 4 x 4 samples, the smallest that encoders make, and in large pictures one for every 16
    /// x 16. The usual one for every 64 x 64 takes a fraction of this.
    pub fn ample_memory(samples: u64, components: u64, stream_len: u64) -> u64 {
        let blocks = samples.saturating_mul(8).min(SMALL.saturating_add(samples / 2));
        Self::spare(components).saturating_add(blocks).saturating_add(stream_len)
    }

    /// Returns enough memory for usual streams, if many are held: code-blocks of 32 x 32 samples and more.
    pub fn usual_memory(samples: u64, components: u64, stream_len: u64) -> u64 {
        Self::spare(components).saturating_add(samples / 8).saturating_add(stream_len)
    }

    fn spare(components: u64) -> u64 {
        components.saturating_mul(SPARE_EACH).saturating_add(SPARE)
    }
}

const EOC: [u8; 2] = [0xFF, 0xD9];

/// Returns the shape of a codestream, alone or in a JP2 file.
///
/// # Errors
///
/// If there is no codestream, or its sizes are impossible.
pub fn size(stream: &[u8]) -> Result<Size, BlockFault> {
    super::tile_parts::size(super::boxes::codestream(stream)?)
}

/// Reads a codestream, alone or in a JP2 file. Pieces of code-blocks are ranges of `stream`.
///
/// # Errors
///
/// If the stream is corrupt or truncated, exceeds the limits of samples or memory, or uses an unsupported feature.
pub fn parse(stream: &[u8], limits: Limits) -> Result<Codestream, BlockFault> {
    let place = place(stream)?;
    let base = place.start;
    if u32::try_from(place.end).is_err() {
        return Err(BlockFault::unsupported("JPEG 2000: a stream of 4 GiB and more"));
    }
    let codestream = stream.get(place).unwrap_or_default();
    let mut memory = Memory::new(limits.memory);
    let Headers { size, parameters, tiles } =
        headers(codestream, &mut memory, |size| check(size, codestream, limits))?;
    memory.take::<Component>(2 * size.components.len())?;
    let component =
        |component: &Component| Component { rect: component.rect.reduced(limits.reduce), ..*component };
    let mut parsed = Parsed {
        base,
        codestream,
        memory,
        found: Codestream {
            area: size.area.reduced(limits.reduce),
            components: size.components.iter().map(component).collect(),
            tiles: Vec::new(),
            planes: Vec::new(),
            blocks: Vec::new(),
            segments: Vec::new(),
            pieces: Vec::new(),
        },
    };
    for (index, tile) in tiles.iter().enumerate() {
        let holding = Holding { main: &parameters, tile: &tile.parameters };
        parsed.tile(&size, index, tile, &holding, limits.reduce)?;
    }
    Ok(parsed.found)
}

fn check(size: &Size, codestream: &[u8], limits: Limits) -> Result<(), BlockFault> {
    let samples = size.samples(limits.reduce);
    if samples > limits.most_samples {
        return Err(BlockFault::wrong_shape(format!(
            "JPEG 2000: expected at most {} samples, got {samples}",
            limits.most_samples
        )));
    }
    let planes = size.tiles().saturating_mul(size.components.len());
    if planes > codestream.len() {
        return Err(ended(codestream, &format!("it should have {planes} tile-components")));
    }
    Ok(())
}

/// Results so far.
struct Parsed<'a> {
    /// Position of the codestream in the stream.
    base: usize,
    codestream: &'a [u8],
    memory: Memory,
    found: Codestream,
}

impl Parsed<'_> {
    fn tile(
        &mut self,
        size: &Size,
        index: usize,
        parts: &TileParts,
        holding: &Holding<'_>,
        reduce: u8,
    ) -> Result<(), BlockFault> {
        let rect = size.tile(index);
        let general = holding.general()?;
        let before = self.memory.used();
        let mut components = Vec::new();
        self.memory.reserve(&mut components, size.components.len())?;
        for component in (0_u16..).take(size.components.len()) {
            let levels = usize::from(holding.coding(component)?.levels);
            self.memory.take::<u8>(resolutions_len(levels + 1))?;
            components.push(tile_component(size, rect, holding, component, reduce)?);
        }
        let (places, mut precincts) =
            self.precincts(size, index, rect, parts, &components, general.layers)?;
        let mut state = TileState::new(self.memory);
        self.packets(index, parts, holding, &components, &places, &mut precincts, &mut state)?;
        self.memory = state.memory;
        // All of it belongs only to this tile.
        let own = self.memory.used() - before;
        self.take(size, &components, &general, &places, &precincts, &state)?;
        self.memory.give(own);
        Ok(())
    }

    /// Creates the precincts of a tile, after checking that the stream is long enough for all their packets.
    fn precincts(
        &mut self,
        size: &Size,
        index: usize,
        rect: Rect,
        parts: &TileParts,
        components: &[TileComponent<'_>],
        layers: u16,
    ) -> Result<(Vec<Place>, Vec<Precinct>), BlockFault> {
        let resolutions = || components.iter().flat_map(|component| &component.resolutions);
        let count = resolutions().map(Resolution::count).fold(0, u64::saturating_add);
        let bytes = match &parts.headers {
            Some(headers) => headers.len(),
            None => parts.packets.iter().map(ExactSizeIterator::len).sum(),
        };
        if count.saturating_mul(layers.into()) > bytes as u64 {
            return Err(ended(
                self.codestream,
                &format!(
                    "tile {index} should have {count} packets in each of {layers} layers, and has {bytes} bytes"
                ),
            ));
        }
        let (mut all, mut precincts) = (Vec::new(), Vec::new());
        // At most as many as there are bytes.
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.memory.reserve(&mut all, count)?;
        self.memory.reserve(&mut precincts, count)?;
        for (component, parts) in (0_u16..).zip(components) {
            for resolution in 0..=parts.coding.levels {
                let first = all.len();
                all.extend(places(size, rect, component, parts, resolution));
                let own = all.len() - first;
                precincts.extend((0_u32..).take(own).map(|index| Precinct { index, layers: 0, bands: NONE }));
            }
        }
        Ok((all, precincts))
    }

    /// Reads all packets of a tile.
    #[expect(clippy::too_many_arguments, reason = "all that is known of the tile")]
    fn packets(
        &self,
        index: usize,
        parts: &TileParts,
        holding: &Holding<'_>,
        components: &[TileComponent<'_>],
        places: &[Place],
        precincts: &mut [Precinct],
        state: &mut TileState,
    ) -> Result<(), BlockFault> {
        let General { order, layers, sop, eph, .. } = holding.general()?;
        let whole = [Volume { order, resolutions: (0, u8::MAX), components: (0, u16::MAX), layers }];
        let volumes = if holding.volumes().is_empty() { &whole } else { holding.volumes() };
        let mut source = Source {
            codestream: self.codestream,
            parts: &parts.packets,
            at: parts.packets.first().map_or(0, |part| part.start),
            headers: parts.headers.as_deref(),
            sop,
            eph,
        };
        let mut order = Vec::new();
        state.memory.reserve(&mut order, places.len())?;
        for volume in volumes {
            let volume = Volume { layers: volume.layers.min(layers), ..*volume };
            walk(&volume, places, &mut order, |at, layer| {
                let (Some(place), Some(precinct)) = (places.get(at), precincts.get_mut(at)) else {
                    return Ok(());
                };
                let Some(component) = components.get(usize::from(place.component)) else { return Ok(()) };
                let Some(resolution) = component.resolutions.get(usize::from(place.resolution)) else {
                    return Ok(());
                };
                if layer < precinct.layers {
                    return Ok(());
                }
                precinct.layers = layer + 1;
                let style = component.coding.style;
                let bands = &mut precinct.bands;
                let start = source.at;
                state
                    .packet(&mut source, resolution, precinct.index, style, layer, bands)
                    .map_err(|wrong| self.fault(wrong, index, place, layer, start))
            })?;
        }
        if precincts.iter().any(|precinct| precinct.layers != layers) {
            return Err(BlockFault::corrupt(format!(
                "JPEG 2000: the progression leaves packets of tile {index} out"
            )));
        }
        let last = source.parts.first().map_or(0, |part| part.end);
        let rest = self.codestream.get(source.at..last).unwrap_or_default();
        let complete = rest.is_empty() || (parts.open && rest.starts_with(&EOC));
        if !complete || source.parts.len() > 1 && source.parts.iter().skip(1).any(|part| !part.is_empty()) {
            return Err(BlockFault::corrupt(format!(
                "JPEG 2000: bytes after the last packet of tile {index}"
            )));
        }
        if let Some(left) = source.headers.filter(|left| !left.is_empty()) {
            return Err(BlockFault::corrupt(format!(
                "JPEG 2000: {} bytes of PPM or PPT segments after the last packet header of tile {index}",
                left.len()
            )));
        }
        Ok(())
    }

    fn fault(&self, wrong: Wrong, tile: usize, place: &Place, layer: u16, at: usize) -> BlockFault {
        let Place { component, resolution, .. } = place;
        let packet = format!(
            "packet at byte {at} (tile {tile}, component {component}, resolution {resolution}, layer {layer})"
        );
        match wrong {
            Wrong::Ended => {
                ended(self.codestream, &format!("its tile or its headers end within the {packet}"))
            }
            Wrong::Corrupt(what) => BlockFault::corrupt(format!("JPEG 2000: {what} in the {packet}")),
            Wrong::Unsupported(what) => BlockFault::unsupported(format!("JPEG 2000: {what} in the {packet}")),
            Wrong::Memory(none) => none.into(),
        }
    }

    /// Records the planes and code-blocks of a tile.
    fn take(
        &mut self,
        size: &Size,
        components: &[TileComponent<'_>],
        general: &General,
        places: &[Place],
        precincts: &[Precinct],
        state: &TileState,
    ) -> Result<(), BlockFault> {
        let (found, memory) = (&mut self.found, &mut self.memory);
        let first_plane = found.planes.len();
        let begun = state.blocks.iter().filter(|block| block.first != NONE).count();
        memory.reserve(&mut found.tiles, 1)?;
        memory.reserve(&mut found.planes, components.len())?;
        memory.reserve(&mut found.blocks, begun)?;
        memory.reserve(&mut found.segments, state.contributions.len())?;
        memory.reserve(&mut found.pieces, state.contributions.len())?;
        let mut left = places.iter().zip(precincts).peekable();
        for (component, parts) in (0_u16..).zip(components) {
            let plane = u32::try_from(found.planes.len())
                .map_err(|_| BlockFault::unsupported("JPEG 2000: more tile-components than 32 bits count"))?;
            let mut resolutions = Vec::new();
            memory.reserve(&mut resolutions, parts.resolutions.len())?;
            let kept = parts.resolutions.iter().filter(|resolution| resolution.kept);
            resolutions.extend(kept.map(|resolution| resolution.rect));
            found.planes.push(Plane {
                component,
                resolutions,
                reversible: parts.coding.reversible,
                style: parts.coding.style,
            });
            while let Some((place, precinct)) = left.next_if(|(place, _)| place.component == component) {
                let resolution = parts.resolutions.get(usize::from(place.resolution));
                let Some(resolution) = resolution.filter(|resolution| resolution.kept) else { continue };
                if precinct.bands != NONE {
                    blocks(found, state, resolution, precinct, plane, self.base)?;
                }
            }
        }
        let colour = colour(size, components, general.colour)?;
        found.tiles.push(Tile { colour, planes: first_plane..found.planes.len() });
        Ok(())
    }
}

/// Records the code-blocks of a precinct; there is room for them.
fn blocks(
    found: &mut Codestream,
    state: &TileState,
    resolution: &Resolution,
    precinct: &Precinct,
    plane: u32,
    base: usize,
) -> Result<(), BlockFault> {
    let own = state.bands.get(precinct.bands as usize..).unwrap_or_default();
    let high_throughput = found.planes.last().is_some_and(|plane| plane.style.high_throughput);
    for (band, own) in resolution.bands.iter().zip(own) {
        let grid = resolution.grid(precinct.index, band);
        let blocks = state.blocks.get(own.blocks()).unwrap_or_default();
        for (block, (column, row)) in blocks.iter().zip(own.cells()) {
            if !block.passes.begun() {
                continue;
            }
            let rect = grid.block(column, row);
            let (first_segment, first_piece) = (found.segments.len(), found.pieces.len());
            let counted = || BlockFault::unsupported("JPEG 2000: more codeword segments than 32 bits count");
            let number = |count: usize| u32::try_from(count).map_err(|_| counted());
            let len =
                collect(&state.contributions, block.first, base, &mut found.segments, &mut found.pieces)
                    .ok_or_else(counted)?;
            let cleanup = found.segments.get(first_segment).map_or(0, |segment| segment.len);
            if high_throughput && cleanup < 2 {
                return Err(BlockFault::corrupt(
                    "JPEG 2000: a high-throughput cleanup pass of less than 2 bytes",
                ));
            }
            let side = |size: u32| u16::try_from(size).map_err(|_| counted());
            found.blocks.push(CodeBlock {
                plane,
                x: band.x + (rect.x0 - band.rect.x0),
                y: band.y + (rect.y0 - band.rect.y0),
                width: side(rect.width())?,
                height: side(rect.height())?,
                band: band.band,
                band_planes: band.planes,
                planes: band.planes - block.zero_planes,
                passes: block.passes.count(),
                step: band.step,
                segments: number(first_segment)?..number(found.segments.len())?,
                pieces: number(first_piece)?..number(found.pieces.len())?,
                len,
            });
        }
    }
    Ok(())
}

/// Returns the transform of the first three components.
fn colour(size: &Size, components: &[TileComponent<'_>], mixed: bool) -> Result<Colour, BlockFault> {
    if !mixed {
        return Ok(Colour::None);
    }
    let alike = match (components, size.components.as_slice()) {
        ([a, b, c, ..], [first, second, third, ..]) => {
            let reversible = a.coding.reversible;
            let grid = |component: &Component| (component.dx, component.dy);
            let alike = [b, c].iter().all(|other| other.coding.reversible == reversible)
                && [second, third].iter().all(|&other| grid(other) == grid(first));
            alike.then_some(reversible)
        }
        _ => None,
    };
    match alike {
        Some(true) => Ok(Colour::Reversible),
        Some(false) => Ok(Colour::Irreversible),
        None => {
            Err(BlockFault::corrupt("JPEG 2000: a colour transform of components that are not three alike"))
        }
    }
}

/// Reading state of a precinct.
#[derive(Debug, Clone, Copy)]
struct Precinct {
    /// Index in its resolution, row by row.
    index: u32,
    /// Layers read.
    layers: u16,
    /// Index in the bands of the tile, or `NONE` until its first nonempty packet.
    bands: u32,
}
