//! Pixels of a mosaic in host memory: rectangles of files are read together, layers are blended one after the other.

use super::Vrt;
use super::blend::{Layers, lay};
use super::call::{Call, Share};
use super::canvas::{Run, named};
use super::expand::{Expanded, Item, Layer, What, Which};
use super::opened::{Content, Opened, Samples, Sampling, Validity, nodata_of};
use super::parse::Source;
use super::place::Part;
use super::pool::InUse;
use crate::error::{Error, Result};
use crate::options::{Interleave, ReadOptions};
use crate::raster::Raster;
use crate::read::{Asked, Canvas, Frame, Request};
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{EngineError, Fill, Lease, Output, OutputSpec};
use strile_tiff::DataType;

/// Bytes of a source that are held at once.
const CHUNK: u64 = 64 << 20;

const PIXELS: &str = "the decoded image";

impl Vrt {
    /// Bands of a request, band after band, and the memory they take: what a layer takes from a nested mosaic.
    pub(super) fn planes(
        &self,
        which: &[Which],
        request: (Part, Part),
        call: &Call<'_>,
    ) -> Result<(Raster, Lease)> {
        self.compose(self.expand(which, request, call)?, call)
    }

    /// Lays all of it. Sources that fail are set aside where that is allowed; then the pixels are of no use.
    pub(super) fn compose(&self, expanded: Expanded, call: &Call<'_>) -> Result<(Raster, Lease)> {
        let Expanded { data_type, size: (columns, rows), bands, .. } = expanded;
        let lease = call.take(expanded.len(), PIXELS)?;
        let spec = OutputSpec::band_first(data_type, bands, rows, columns);
        let output = spec.and_then(Output::new);
        let output = output.map_err(|error| Error::output(error, |problem| self.refuse(problem)))?;
        let is_layer = |item: &Item| matches!(item.what, What::Layer(_));
        let leading = |items: &[Item]| items.iter().position(is_layer).unwrap_or(items.len());
        let first: Vec<Run<'_>> = expanded
            .groups
            .iter()
            .map(|group| {
                let items = group.items.get(..leading(&group.items)).unwrap_or_default();
                Run { group, items, fills: true }
            })
            .collect();
        let mut pixels = self.run(&expanded, &first, output, call)?;
        for group in &expanded.groups {
            let mut items = group.items.get(leading(&group.items)..).unwrap_or_default();
            while let Some((first, rest)) = items.split_first() {
                if let What::Layer(layer) = &first.what {
                    let plane = columns as usize * rows as usize * data_type.size();
                    let planes = pixels.chunks_exact_mut(plane.max(1)).skip(layer.band as usize);
                    let mut planes: Vec<&mut [u8]> = planes.take(layer.pairs.len()).collect();
                    let laid = layer.lay((columns, &mut planes), &layer.chain, call);
                    laid.or_else(|error| self.go_without(first.file, error, call))?;
                    call.advance(1);
                    items = rest;
                    continue;
                }
                let (run, rest) = items.split_at(leading(items));
                let spec = OutputSpec::band_first(data_type, bands, rows, columns);
                let output = spec.and_then(|spec| Output::from_vec(spec, pixels));
                let output = output.map_err(|error| Error::output(error, |problem| self.refuse(problem)))?;
                let run = [Run { group, items: run, fills: false }];
                pixels = self.run(&expanded, &run, output, call)?;
                items = rest;
            }
        }
        let fill = expanded.groups.first().and_then(|group| group.fills.first()).copied();
        let (interleave, fill) = (Interleave::BandFirst, fill.unwrap_or_default());
        Ok((Raster { data_type, bands, rows, columns, interleave, pixels, fill }, lease))
    }

    /// Reads rectangles of files into host memory that is leased, all of them by one read.
    fn run(&self, expanded: &Expanded, runs: &[Run<'_>], output: Output, call: &Call<'_>) -> Result<Vec<u8>> {
        let (content, _rectangles) = expanded.cut(runs, false, call)?;
        let sources = runs.first().map_or(0, |run| run.items.len()) as u64;
        let whole = Window::full(expanded.size.0, expanded.size.1);
        let canvas = Canvas {
            name: self.name.clone(),
            mosaic: std::ptr::from_ref(self).addr(),
            image: expanded.size,
            data_type: expanded.data_type,
            bands: (0..expanded.bands).map(|_| 0).collect(),
            fills: vec![Fill::default(); expanded.bands as usize],
            nodatas: Vec::new(),
            missing: Vec::new(),
            unpackings: Vec::new(),
            mask: None,
            frame: Frame::exactly(whole),
            inside: Some(whole),
            content,
            blended: 0,
            named: Vec::new(),
        };
        if let Err(error) = read_into(&canvas, &output, sources, call) {
            self.go_without_all(&named(&canvas), error, call)?;
        }
        output.into_vec().ok_or(Error::Engine(EngineError::Abandoned))
    }
}

fn read_into(canvas: &Canvas, output: &Output, sources: u64, call: &Call<'_>) -> Result<()> {
    let requests = [Request::of_mosaic(canvas, None)];
    let options = ReadOptions::new().execution(*call.execution());
    let asked = Asked::one(&requests, &options);
    let share = Share::new(sources, call);
    let reading = share.reading_into_held(asked)?;
    let (_, faults) = reading.read_into(output)?;
    share.complete();
    call.found_by(faults);
    Ok(())
}

impl Layer {
    /// Lays the source upon planes whose rows have so many columns. `chain`: the mosaics that are entered before.
    fn lay(
        &self,
        (columns, planes): (u32, &mut [&mut [u8]]),
        chain: &[Arc<InUse>],
        call: &Call<'_>,
    ) -> Result<()> {
        if let Some((mosaic, rest)) = chain.split_first() {
            return match mosaic.opened.as_ref() {
                Opened::Mosaic(vrt) => self.lay((columns, planes), rest, &call.inside(vrt)),
                Opened::File(_) => Err(Error::Engine(EngineError::Abandoned)),
            };
        }
        let Some((_, first)) = self.pairs.first() else { return Ok(()) };
        let opened = self.source.opened.as_ref();
        let sampling = Sampling::new(self.placed, opened.size(), call)?;
        let is_constant =
            self.pairs.iter().all(|(_, s)| s.complex.as_ref().is_some_and(|c| c.constant().is_some()));
        let (data_type, content) = match first.is_mask {
            true => (DataType::U8, Content::Mask(first.band)),
            false => {
                let bands = self.pairs.iter().map(|(_, source)| source.band);
                (opened.data_type()?, Content::Pixels(bands.collect()))
            }
        };
        let nodata: Vec<Option<f64>> =
            self.pairs.iter().map(|(_, source)| nodata_of(opened, source)).collect();
        let pixel = data_type.size() as u64 * self.pairs.len() as u64;
        let (across, down) = (sampling.across, sampling.down);
        let mut next = 0;
        while next < down.part.count {
            if call.context().cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
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
            for ((at, (onto, source)), nodata) in self.pairs.iter().enumerate().zip(&nodata) {
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
                let corner = (self.corner.0 + across.out, self.corner.1 + down.out + rows.start);
                if let Some(plane) = planes.get_mut(at) {
                    lay(&layers, onto, plane, corner, columns);
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
