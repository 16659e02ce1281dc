//! Pixels of a mosaic: filled with nodata, else 0, then source upon source in their order.
//!
//! Bands whose sources differ by nothing but the band are read together, so that interleaved files are
//! decoded once.

use super::blend::{Layers, lay};
use super::parse::{Band, Source};
use super::place::{Part, Rectangles};
use super::sources::{Content, Opened, Sampling, Validity};
use super::{Vrt, index::Index};
use crate::error::{Error, Result};
use crate::options::{Interleave, ReadOptions};
use crate::raster::Raster;
use std::sync::{Mutex, PoisonError};
use strile_engine::{Context, EngineError, Fill, LocatedFault, Progress};
use strile_tiff::DataType;

/// Bytes of a source that are held at once.
const CHUNK: u64 = 64 << 20;

/// One call of a reader, handed down to nested mosaics.
pub(super) struct Call<'a> {
    pub(super) options: &'a ReadOptions,
    /// Without progress: sources are counted, not their blocks.
    pub(super) context: Context,
    progress: Option<&'a dyn Progress>,
    faults: Mutex<Vec<LocatedFault>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(options: &'a ReadOptions, context: &'a Context) -> Self {
        let inner = Context { progress: None, ..context.clone() };
        Self { options, context: inner, progress: context.progress.as_deref(), faults: Mutex::default() }
    }

    /// Adds what a source was faulty in.
    pub(super) fn found(&self, faults: &[LocatedFault]) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(faults);
    }

    pub(super) fn faults(self) -> Vec<LocatedFault> {
        self.faults.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

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

    /// Bands of a request as one raster, band after band.
    pub(super) fn planes(&self, which: &[Which], request: (Part, Part), call: &Call<'_>) -> Result<Raster> {
        let (columns, rows) = (request.0.count, request.1.count);
        let absent = || Error::Engine(EngineError::Abandoned);
        let found = which.iter().map(|&which| self.band(which).ok_or_else(absent));
        let found: Vec<(&Band, &Index)> = found.collect::<Result<_>>()?;
        let data_type = found.first().map_or(DataType::U8, |(band, _)| band.data_type);
        let plane =
            u64::from(columns).saturating_mul(u64::from(rows)).saturating_mul(data_type.size() as u64);
        let need = plane.saturating_mul(which.len() as u64);
        let _lease = call.context.budget.take(need, "the decoded image")?;
        let (plane, need) = usize::try_from(plane).ok().zip(usize::try_from(need).ok()).ok_or_else(absent)?;
        let mut pixels = vec![0; need];
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
        Ok(Raster { data_type, bands, rows, columns, interleave, pixels, fill, faults: Vec::new() })
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
            if call.context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let pairs = touched.iter().filter_map(|t| Some((t.band, *t.sources.get(at)?)));
            self.lay_one(&pairs.collect::<Vec<_>>(), request, planes, call)?;
            if let Some(progress) = call.progress.filter(|_| self.chain.len() == 1) {
                progress.advance(1);
            }
        }
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
        let Some(opened) = self.source(first.file)? else { return Ok(()) };
        let size = opened.size()?;
        let Some(placed) = Rectangles::place(first.rectangles.as_ref(), size, request) else { return Ok(()) };
        let bands = opened.bands()?;
        if let Some((_, source)) = pairs.iter().find(|(_, source)| source.band > bands) {
            return Err(self.invalid(format!(
                "band {} of source `{}`, which has {bands}",
                source.band,
                self.file_name(source.file)
            )));
        }
        let sampling = Sampling::new(placed, size);
        let is_constant =
            pairs.iter().all(|(_, s)| s.complex.as_ref().is_some_and(|c| c.constant().is_some()));
        let (data_type, content) = match first.is_mask {
            true => (DataType::U8, Content::Mask(first.band)),
            false => {
                (opened.data_type()?, Content::Pixels(pairs.iter().map(|(_, source)| source.band).collect()))
            }
        };
        let nodata = pairs.iter().map(|(_, source)| match &source.complex {
            Some(complex) if complex.uses_mask && !source.is_mask => match opened.validity(source.band)? {
                Validity::NoData(value) => Ok(Some(value)),
                _ => Ok(complex.nodata),
            },
            other => Ok(other.as_ref().and_then(|complex| complex.nodata)),
        });
        let nodata: Vec<Option<f64>> = nodata.collect::<Result<_>>()?;
        let pixel = data_type.size() as u64 * pairs.len() as u64;
        let (across, down) = (sampling.across, sampling.down);
        let mut next = 0;
        while next < down.part.count {
            let rows = match opened.block_height()? {
                Some(height) => sampling.chunk(next, pixel, CHUNK, height),
                None => next..down.part.count,
            };
            let count = rows.end - rows.start;
            let bytes = u64::from(across.part.count).saturating_mul(count.into()).saturating_mul(pixel);
            let _lease = call.context.budget.take(bytes, "the pixels of a source")?;
            let pixels = match is_constant {
                true => Vec::new(),
                false => opened.sample(&content, &sampling, rows.clone(), call)?,
            };
            let plane_len = across.part.count as usize * count as usize * data_type.size();
            for ((at, (band, source)), nodata) in pairs.iter().enumerate().zip(&nodata) {
                let mask = match nodata {
                    None => mask_of(source, &opened, &sampling, rows.clone(), call)?,
                    Some(_) => None,
                };
                let layers = Layers {
                    pixels: pixels.get(at * plane_len..(at + 1) * plane_len).unwrap_or_default(),
                    data_type,
                    mask: mask.as_deref(),
                    nodata: *nodata,
                    complex: source.complex.as_deref(),
                    columns: across.part.count,
                    rows: count,
                };
                if let Some(plane) = planes.get_mut(at) {
                    lay(&layers, band, plane, (across.out, down.out + rows.start), request.0.count);
                }
            }
            next = rows.end;
        }
        Ok(())
    }
}

/// The validity of a source that is laid by its mask.
fn mask_of(
    source: &Source,
    opened: &Opened,
    sampling: &Sampling,
    rows: std::ops::Range<u32>,
    call: &Call<'_>,
) -> Result<Option<Vec<u8>>> {
    if !source.complex.as_ref().is_some_and(|complex| complex.uses_mask) {
        return Ok(None);
    }
    if source.is_mask {
        return opened.sample(&Content::Mask(source.band), sampling, rows, call).map(Some);
    }
    match opened.validity(source.band)? {
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
