//! Pixels of a mosaic: filled with nodata, else 0, then source upon source in their order.
//!
//! Bands whose sources differ by nothing but the band are read together, so that interleaved files are
//! decoded once.

use super::blend::{Layers, lay};
use super::call::Call;
use super::number::{Number, sample_of};
use super::opened::{Content, Opened, Samples, Sampling, Validity};
use super::parse::{Band, Source};
use super::place::{Extent, Part, Rectangles};
use super::{Missing, Vrt, index::Index};
use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::raster::Raster;
use strile_engine::memory::try_zeroed;
use strile_engine::{EngineError, Fill, Lease};
use strile_tiff::DataType;

/// Bytes of a source that are held at once.
const CHUNK: u64 = 64 << 20;

/// A band from 1, or the mask of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Band(u16),
    Mask,
}

/// A band with the sources that a request touches.
struct Touched<'a> {
    band: &'a Band,
    sources: Vec<&'a Source>,
}

impl Vrt {
    fn band(&self, which: Which) -> Option<(&Band, &Index)> {
        match which {
            Which::Band(band) => {
                let at = usize::from(band).checked_sub(1)?;
                Some((self.bands.get(at)?, self.indexes.get(at)?))
            }
            Which::Mask => self.mask.as_ref().map(|(band, index)| (band, index)),
        }
    }

    /// Bands of a request as one raster, band after band, and the memory it takes. If sources failed and are set aside,
    /// all is laid anew without them: none is laid in part.
    pub(super) fn planes(
        &self,
        which: &[Which],
        request: (Part, Part),
        call: &Call<'_>,
    ) -> Result<(Raster, Lease)> {
        loop {
            let known = call.set_aside().len();
            let laid = self.laid(which, request, call)?;
            if call.set_aside().len() == known || !call.is_outermost() {
                return Ok(laid);
            }
        }
    }

    fn laid(&self, which: &[Which], request: (Part, Part), call: &Call<'_>) -> Result<(Raster, Lease)> {
        let (columns, rows) = (request.0.count, request.1.count);
        let absent = || Error::Engine(EngineError::Abandoned);
        let found = which.iter().map(|&which| self.band(which).ok_or_else(absent));
        let found: Vec<(&Band, &Index)> = found.collect::<Result<_>>()?;
        let data_type = found.first().map_or(DataType::U8, |(band, _)| band.data_type);
        let plane =
            u64::from(columns).saturating_mul(u64::from(rows)).saturating_mul(data_type.size() as u64);
        let need = plane.saturating_mul(which.len() as u64);
        let lease = call.take(need, "the decoded image")?;
        call.allow(need / data_type.size() as u64);
        let (plane, need) = usize::try_from(plane).ok().zip(usize::try_from(need).ok()).ok_or_else(absent)?;
        let mut pixels = try_zeroed(need, "the decoded image")?;
        let touched: Vec<Touched<'_>> = found
            .iter()
            .map(|&(band, index)| {
                let indices = index.touched(&band.sources, request);
                Touched {
                    band,
                    sources: indices.iter().filter_map(|&i| band.sources.get(i as usize)).collect(),
                }
            })
            .collect();
        let listed: usize = touched.iter().map(|touched| touched.sources.len()).sum();
        let listed = (listed * size_of::<(&Source, u32)>()) as u64;
        let _listed = call.take(listed, "the list of sources")?;
        let planes = pixels.chunks_exact_mut(plane.max(1));
        let mut planes: Vec<&mut [u8]> = planes
            .zip(&touched)
            .map(|(plane, touched)| {
                let fill = touched.band.fill.get(..data_type.size()).unwrap_or_default();
                if fill.iter().any(|&byte| byte != 0) {
                    plane.chunks_exact_mut(fill.len()).for_each(|sample| sample.copy_from_slice(fill));
                }
                plane
            })
            .collect();
        if self.options.empty_holes && call.is_outermost() {
            let set_aside = call.set_aside();
            for (touched, plane) in touched.iter().zip(planes.iter_mut()) {
                let lost = touched.sources.iter().filter(|source| set_aside.contains_key(&source.file));
                lost.for_each(|source| empty(touched.band, source.rectangles, request, plane));
            }
        }
        if are_parallel(&touched) {
            self.lay_all(&touched, request, &mut planes, call)?;
        } else {
            for (touched, plane) in touched.iter().zip(planes.iter_mut()) {
                self.lay_all(std::slice::from_ref(touched), request, std::slice::from_mut(plane), call)?;
            }
        }
        let fill = Fill(found.first().map_or([0; 16], |(band, _)| band.fill));
        let bands = u32::try_from(which.len()).unwrap_or(u32::MAX);
        let interleave = Interleave::BandFirst;
        let faults = Vec::new();
        Ok((Raster { data_type, bands, rows, columns, interleave, pixels, fill, faults }, lease))
    }

    /// Lays the sources of parallel bands upon their planes.
    fn lay_all(
        &self,
        touched: &[Touched<'_>],
        request: (Part, Part),
        planes: &mut [&mut [u8]],
        call: &Call<'_>,
    ) -> Result<()> {
        let count = touched.first().map_or(0, |first| first.sources.len());
        for at in 0..count {
            if call.context().cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let pairs = touched.iter().filter_map(|t| Some((t.band, *t.sources.get(at)?)));
            let pairs: Vec<_> = pairs.collect();
            let Some(file) = pairs.first().map(|(_, source)| source.file) else { continue };
            let is_aside = call.is_outermost() && call.set_aside().contains_key(&file);
            if !is_aside && let Err(error) = self.lay_one(&pairs, request, planes, call) {
                self.set_aside(file, error, call)?;
            }
            call.advance();
        }
        Ok(())
    }

    /// Goes on without a source that failed, where the damage is its own and only to be warned of.
    fn set_aside(&self, file: u32, error: Error, call: &Call<'_>) -> Result<()> {
        let is_damage = match &error {
            Error::File { file, .. } => *file != self.name,
            other => matches!(other, Error::Io { .. } | Error::Blocks { .. }),
        };
        if !is_damage || self.options.missing == Missing::Raise || !call.is_outermost() {
            return Err(error);
        }
        call.hole(file, self.file_name(file), &error.to_string());
        Ok(())
    }

    fn lay_one(
        &self,
        pairs: &[(&Band, &Source)],
        request: (Part, Part),
        planes: &mut [&mut [u8]],
        call: &Call<'_>,
    ) -> Result<()> {
        let Some((_, first)) = pairs.first() else { return Ok(()) };
        call.count_source()?;
        let Some(in_use) = self.source(first.file, call)? else { return Ok(()) };
        let opened = in_use.opened.as_ref();
        let size = opened.size();
        let Some(placed) = Rectangles::place(first.rectangles.as_ref(), size, request) else { return Ok(()) };
        let bands = opened.bands();
        if let Some((_, source)) = pairs.iter().find(|(_, source)| source.band > bands) {
            return Err(self.invalid(format!(
                "band {} of source `{}`, which has {bands}",
                source.band,
                self.file_name(source.file)
            )));
        }
        let laid = u64::from(placed.0.part.count).saturating_mul(placed.1.part.count.into());
        call.count(laid.saturating_mul(pairs.len() as u64))?;
        let sampling = Sampling::new(placed, size, call)?;
        let is_constant =
            pairs.iter().all(|(_, s)| s.complex.as_ref().is_some_and(|c| c.constant().is_some()));
        let (data_type, content) = match first.is_mask {
            true => (DataType::U8, Content::Mask(first.band)),
            false => {
                (opened.data_type()?, Content::Pixels(pairs.iter().map(|(_, source)| source.band).collect()))
            }
        };
        let nodata = pairs.iter().map(|(_, source)| match &source.complex {
            Some(complex) if complex.uses_mask && !source.is_mask => match opened.validity(source.band) {
                Validity::NoData(value) => Some(value),
                _ => complex.nodata,
            },
            other => other.as_ref().and_then(|complex| complex.nodata),
        });
        let nodata: Vec<Option<f64>> = nodata.collect();
        let pixel = data_type.size() as u64 * pairs.len() as u64;
        let (across, down) = (sampling.across, sampling.down);
        let mut next = 0;
        while next < down.part.count {
            let rows = match opened.block_height() {
                Some(height) => sampling.chunk(next, pixel, CHUNK, height),
                None => next..down.part.count,
            };
            let count = rows.end - rows.start;
            let samples = match is_constant {
                true => None,
                false => Some(opened.sample(&content, &sampling, rows.clone(), call)?),
            };
            let pixels = samples.as_ref().map_or(&[][..], |samples| &samples.pixels);
            // The mask of all bands, once it was read.
            let mut shared: Option<Samples> = None;
            let plane_len = across.part.count as usize * count as usize * data_type.size();
            for ((at, (band, source)), nodata) in pairs.iter().enumerate().zip(&nodata) {
                let own = match nodata {
                    None if shared.is_none() => mask_of(source, opened, &sampling, rows.clone(), call)?,
                    _ => None,
                };
                let mask = match nodata {
                    None => own.as_ref().or(shared.as_ref()).filter(|_| uses_mask(source)),
                    Some(_) => None,
                };
                let layers = Layers {
                    pixels: pixels.get(at * plane_len..(at + 1) * plane_len).unwrap_or_default(),
                    data_type,
                    mask: mask.map(|mask| mask.pixels.as_slice()),
                    nodata: *nodata,
                    complex: source.complex.as_deref(),
                    columns: across.part.count,
                    rows: count,
                };
                if let Some(plane) = planes.get_mut(at) {
                    lay(&layers, band, plane, (across.out, down.out + rows.start), request.0.count);
                }
                if own.is_some() && matches!(opened.validity(source.band), Validity::Image) {
                    shared = own;
                }
            }
            next = rows.end;
        }
        Ok(())
    }
}

/// Empties the pixels of a plane that a source would touch: NaN, or 0 where samples cannot be that.
fn empty(band: &Band, rectangles: Option<Rectangles>, request: (Part, Part), plane: &mut [u8]) {
    use DataType as D;
    let size = band.data_type.size();
    let nothing = match band.data_type {
        D::F16 | D::F32 | D::F64 | D::C64 | D::C128 => sample_of(Number::Double(f64::NAN), band.data_type),
        _ => [0; 16],
    };
    let Some(nothing) = nothing.get(..size) else { return };
    let part = |extent: Option<Extent>, part: Part| match extent {
        None => 0..part.count as usize,
        Some(extent) => {
            let (start, end) = (extent.target.floor(), (extent.target + extent.target_size).ceil());
            let at = |v: f64| (v - part.start).clamp(0.0, f64::from(part.count));
            whole(at(start))..whole(at(end))
        }
    };
    let columns = part(rectangles.map(|r| r.across), request.0);
    let rows = part(rectangles.map(|r| r.down), request.1);
    for row in
        plane.chunks_exact_mut((request.0.count as usize * size).max(1)).take(rows.end).skip(rows.start)
    {
        let pixels = row.chunks_exact_mut(size).take(columns.end).skip(columns.start);
        pixels.for_each(|sample| sample.copy_from_slice(nothing));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number of pixels of a request"
)]
fn whole(v: f64) -> usize {
    v as usize
}

fn uses_mask(source: &Source) -> bool {
    source.complex.as_ref().is_some_and(|complex| complex.uses_mask)
}

/// The validity of a source that is laid by its mask.
fn mask_of(
    source: &Source,
    opened: &Opened,
    sampling: &Sampling,
    rows: std::ops::Range<u32>,
    call: &Call<'_>,
) -> Result<Option<Samples>> {
    if !uses_mask(source) {
        return Ok(None);
    }
    let columns = u64::from(sampling.across.part.count);
    call.count(columns.saturating_mul((rows.end - rows.start).into()))?;
    if source.is_mask {
        return opened.sample(&Content::Mask(source.band), sampling, rows, call).map(Some);
    }
    match opened.validity(source.band) {
        Validity::All | Validity::NoData(_) => Ok(None),
        Validity::Alpha(alpha) if alpha == source.band => {
            opened.own_alpha(alpha, sampling, rows, call).map(Some)
        }
        Validity::Alpha(_) | Validity::Image => {
            opened.sample(&Content::Mask(source.band), sampling, rows, call).map(Some)
        }
    }
}

/// Whether the bands' sources differ by nothing but the band and what is done to it.
fn are_parallel(touched: &[Touched<'_>]) -> bool {
    let Some((first, others)) = touched.split_first() else { return true };
    let same =
        |a: &Source, b: &Source| a.file == b.file && a.rectangles == b.rectangles && !a.is_mask && !b.is_mask;
    others.iter().all(|other| {
        other.sources.len() == first.sources.len()
            && other.sources.iter().zip(&first.sources).all(|(a, b)| same(a, b))
    })
}
