//! Marker segments with coding parameters of tiles: COD, COC, QCD, QCC and POC (ISO 15444-1, A.6).
//!
//! The main header and each tile may have their own. The parameters of a tile's component are looked up on demand, so
//! stored data are bounded by the bytes of the segments.

use super::fields::Fields;
use super::memory::Memory;
use super::progression::{Order, Volume};
use super::{Band, Style};
use std::collections::BTreeMap;
use strile_engine::BlockFault;

/// Maximum wavelet levels.
const MOST_LEVELS: u8 = 32;
/// Maximum progression changes per header; each costs a walk over the tile.
const MOST_VOLUMES: usize = 64;

/// Parameters of a whole tile (SGcod and Scod).
#[derive(Debug, Clone, Copy)]
pub(super) struct General {
    pub(super) order: Order,
    pub(super) layers: u16,
    pub(super) colour: bool,
    pub(super) sop: bool,
    pub(super) eph: bool,
}

/// Transform and partition of a tile's component (SPcod, SPcoc).
#[derive(Debug, Clone)]
pub(super) struct Coding {
    pub(super) levels: u8,
    /// Exponents of the maximum width and height of code-blocks.
    pub(super) block: (u8, u8),
    pub(super) style: Style,
    pub(super) reversible: bool,
    /// One byte per resolution: exponents of the width (low half) and the height of precincts. Empty: 15 and 15.
    precincts: Vec<u8>,
}

impl Coding {
    /// Returns the exponents of the width and the height of a resolution's precincts.
    pub(super) fn precinct(&self, resolution: u8) -> (u8, u8) {
        let both = self.precincts.get(usize::from(resolution)).copied().unwrap_or(0xFF);
        (both & 15, both >> 4)
    }

    fn read(fields: &mut Fields<'_>, precincts: bool) -> Result<Self, BlockFault> {
        let short = || BlockFault::corrupt("JPEG 2000: COD or COC segment cut short");
        let mut next = || fields.u8().ok_or_else(short);
        let (levels, width, height, style, transform) = (next()?, next()?, next()?, next()?, next()?);
        if levels > MOST_LEVELS || width > 8 || height > 8 || width + height > 8 || transform > 1 {
            return Err(BlockFault::corrupt("JPEG 2000: impossible numbers in a COD or COC segment"));
        }
        let precincts = match precincts {
            true => fields.take(usize::from(levels) + 1).ok_or_else(short)?,
            false => &[],
        };
        if precincts.iter().skip(1).any(|&both| both & 15 == 0 || both >> 4 == 0) {
            return Err(BlockFault::corrupt("JPEG 2000: precincts smaller than a pixel of their bands"));
        }
        let style = code_block_style(style)?;
        let block = (width + 2, height + 2);
        Ok(Self { levels, block, style, reversible: transform == 1, precincts: precincts.to_vec() })
    }
}

fn code_block_style(bits: u8) -> Result<Style, BlockFault> {
    let high_throughput = bits & 0x40 != 0;
    if bits & 0x80 != 0 {
        return Err(BlockFault::unsupported(
            "JPEG 2000: code-blocks of both kinds, arithmetic and high-throughput",
        ));
    }
    if high_throughput && bits & 0x37 != 0 {
        return Err(BlockFault::unsupported(
            "JPEG 2000: styles that high-throughput code-blocks do not have",
        ));
    }
    // Bit 0x10, predictable termination of segments, is irrelevant for decoding.
    Ok(Style {
        bypass: bits & 0x01 != 0,
        reset: bits & 0x02 != 0,
        terminate: bits & 0x04 != 0,
        causal: bits & 0x08 != 0,
        segmentation: bits & 0x20 != 0,
        high_throughput,
    })
}

/// Quantisation of coefficients (SQcd and SPqcd).
#[derive(Debug, Clone)]
pub(super) struct Quantisation {
    kind: Kind,
    guard: u8,
    /// Exponent and mantissa of each band, or only of the first.
    steps: Vec<(u8, u16)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Derived,
    Each,
}

impl Quantisation {
    fn read(fields: &mut Fields<'_>) -> Result<Self, BlockFault> {
        let short = || BlockFault::corrupt("JPEG 2000: QCD or QCC segment cut short");
        let style = fields.u8().ok_or_else(short)?;
        let kind = match style & 31 {
            0 => Kind::None,
            1 => Kind::Derived,
            2 => Kind::Each,
            other => return Err(BlockFault::corrupt(format!("JPEG 2000: quantisation {other}"))),
        };
        let steps: Vec<(u8, u16)> = match kind {
            Kind::None => fields.0.iter().map(|&byte| (byte >> 3, 0)).collect(),
            Kind::Derived | Kind::Each => {
                let step = |&both: &[u8; 2]| (both[0] >> 3, u16::from_be_bytes(both) & 0x7FF);
                fields.0.as_chunks().0.iter().map(step).collect()
            }
        };
        if steps.is_empty() {
            return Err(short());
        }
        Ok(Self { kind, guard: style >> 5, steps })
    }

    /// Returns the magnitude bit planes and step of a band (equations E-2, E-3 and E-5); `depth` is that of the
    /// samples.
    pub(super) fn band(
        &self,
        coding: &Coding,
        resolution: u8,
        band: Band,
        depth: u8,
    ) -> Result<(u8, f32), BlockFault> {
        let place = match band {
            Band::Ll => 0,
            Band::Hl | Band::Lh | Band::Hh => 3 * usize::from(resolution) - 3 + band as usize,
        };
        let missing = || BlockFault::corrupt(format!("JPEG 2000: no quantisation step for band {place}"));
        let (exponent, mantissa) = match self.kind {
            Kind::None | Kind::Each => *self.steps.get(place).ok_or_else(missing)?,
            Kind::Derived => {
                let &(exponent, mantissa) = self.steps.first().ok_or_else(missing)?;
                let below = resolution.saturating_sub(1);
                let exponent = exponent
                    .checked_sub(below)
                    .ok_or_else(|| BlockFault::corrupt("JPEG 2000: derived quantisation exponent under 0"))?;
                (exponent, mantissa)
            }
        };
        let planes = (self.guard + exponent).saturating_sub(1);
        if coding.reversible {
            return match self.kind {
                Kind::None => Ok((planes, 1.0)),
                _ => Err(BlockFault::unsupported("JPEG 2000: quantisation of the reversible wavelet")),
            };
        }
        let gain = match band {
            Band::Ll => 0,
            Band::Hl | Band::Lh => 1,
            Band::Hh => 2,
        };
        let power = i32::from(depth) + gain - i32::from(exponent);
        Ok((planes, 2.0_f32.powi(power) * (1.0 + f32::from(mantissa) / 2048.0)))
    }
}

/// The segments of a header: the main one, or all of a tile's. Segments that may occur often are counted twice, because
/// maps reserve spare room.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    all: Option<(General, Coding)>,
    of_component: BTreeMap<u16, Coding>,
    quantisation: Option<Quantisation>,
    quantisation_of_component: BTreeMap<u16, Quantisation>,
    /// Progression changes.
    volumes: Vec<Volume>,
}

impl Parameters {
    pub(super) fn read_cod(&mut self, body: &[u8]) -> Result<(), BlockFault> {
        let mut fields = Fields(body);
        let short = || BlockFault::corrupt("JPEG 2000: COD segment cut short");
        let style = fields.u8().ok_or_else(short)?;
        let order = fields.u8().ok_or_else(short)?;
        let layers = fields.u16().ok_or_else(short)?;
        let colour = fields.u8().ok_or_else(short)?;
        if colour > 1 || layers == 0 || style > 7 {
            return Err(BlockFault::corrupt("JPEG 2000: impossible numbers in a COD segment"));
        }
        let order = Order::read(order)?;
        let coding = Coding::read(&mut fields, style & 1 != 0)?;
        let (sop, eph) = (style & 2 != 0, style & 4 != 0);
        self.all = Some((General { order, layers, colour: colour == 1, sop, eph }, coding));
        Ok(())
    }

    pub(super) fn read_coc(
        &mut self,
        body: &[u8],
        components: usize,
        memory: &mut Memory,
    ) -> Result<(), BlockFault> {
        memory.take::<(u16, Coding)>(2)?;
        let mut fields = Fields(body);
        let component = component(&mut fields, components, "COC")?;
        let style = fields.u8().ok_or_else(|| BlockFault::corrupt("JPEG 2000: COC segment cut short"))?;
        self.of_component.insert(component, Coding::read(&mut fields, style & 1 != 0)?);
        Ok(())
    }

    pub(super) fn read_qcd(&mut self, body: &[u8], memory: &mut Memory) -> Result<(), BlockFault> {
        memory.take::<(u8, u16)>(body.len())?;
        self.quantisation = Some(Quantisation::read(&mut Fields(body))?);
        Ok(())
    }

    pub(super) fn read_qcc(
        &mut self,
        body: &[u8],
        components: usize,
        memory: &mut Memory,
    ) -> Result<(), BlockFault> {
        memory.take::<(u16, Quantisation)>(2)?;
        memory.take::<(u8, u16)>(body.len())?;
        let mut fields = Fields(body);
        let component = component(&mut fields, components, "QCC")?;
        self.quantisation_of_component.insert(component, Quantisation::read(&mut fields)?);
        Ok(())
    }

    pub(super) fn read_poc(&mut self, body: &[u8], components: usize) -> Result<(), BlockFault> {
        let mut fields = Fields(body);
        while !fields.0.is_empty() {
            let volume = Volume::read(&mut fields, components)
                .ok_or_else(|| BlockFault::corrupt("JPEG 2000: POC segment cut short"))??;
            self.volumes.push(volume);
        }
        if self.volumes.len() > MOST_VOLUMES {
            return Err(BlockFault::unsupported(format!(
                "JPEG 2000: more than {MOST_VOLUMES} changes of the progression"
            )));
        }
        Ok(())
    }
}

fn component(fields: &mut Fields<'_>, components: usize, segment: &str) -> Result<u16, BlockFault> {
    fields
        .component(components)
        .filter(|&component| usize::from(component) < components)
        .ok_or_else(|| BlockFault::corrupt(format!("JPEG 2000: {segment} segment of no component")))
}

/// The segments that apply to a tile: its own take precedence over those of the main header.
#[derive(Clone, Copy)]
pub(super) struct Holding<'a> {
    pub(super) main: &'a Parameters,
    pub(super) tile: &'a Parameters,
}

impl<'a> Holding<'a> {
    pub(super) fn general(&self) -> Result<General, BlockFault> {
        let all = self.tile.all.as_ref().or(self.main.all.as_ref());
        all.map(|(general, _)| *general).ok_or_else(|| BlockFault::corrupt("JPEG 2000: no COD segment"))
    }

    pub(super) fn coding(&self, component: u16) -> Result<&'a Coding, BlockFault> {
        let of = |parameters: &'a Parameters| {
            let all = parameters.all.as_ref().map(|(_, coding)| coding);
            parameters.of_component.get(&component).or(all)
        };
        of(self.tile).or(of(self.main)).ok_or_else(|| BlockFault::corrupt("JPEG 2000: no COD segment"))
    }

    pub(super) fn quantisation(&self, component: u16) -> Result<&'a Quantisation, BlockFault> {
        let of = |parameters: &'a Parameters| {
            parameters.quantisation_of_component.get(&component).or(parameters.quantisation.as_ref())
        };
        of(self.tile).or(of(self.main)).ok_or_else(|| BlockFault::corrupt("JPEG 2000: no QCD segment"))
    }

    /// Returns the progression changes; empty if the progression of the general parameters applies.
    pub(super) fn volumes(&self) -> &'a [Volume] {
        if self.tile.volumes.is_empty() { &self.main.volumes } else { &self.tile.volumes }
    }
}
