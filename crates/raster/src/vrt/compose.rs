//! Composes pixels of a mosaic with layers in one memory: rectangles of files are read together, layers are blended one
//! after the other.
//!
//! All of it runs in the memory of the result, by one engine. Layers that the engine of a device does not blend are
//! blended on the host, together with all others of their window, and the pixels are copied to the device.

use super::Vrt;
use super::call::{Call, Share};
use super::canvas::{Run, named};
use super::expand::{Expanded, Item, Layer, What, Which};
use super::opened::{Content, Opened, Samples, Sampling, Validity, nodata_of};
use super::parse::Source;
use super::place::Part;
use super::pool::InUse;
use crate::error::{Error, Result};
use crate::options::{Interleave, Processor, ReadOptions};
use crate::read::{Asked, Canvas, Frame, Request, moved_to};
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{
    BlendJob, BlendLayer, BlendSamples, EngineError, Fill, Lease, Location, Output, OutputSpec,
};
use strile_tiff::DataType;

/// Bytes of a source that are held at once.
const CHUNK: u64 = 64 << 20;

const PIXELS: &str = "the decoded image";

/// Pixels of a mosaic, band after band, contiguous.
pub(super) struct Composed {
    pub(super) output: Output,
    /// The value of pixels without a source in the first band.
    pub(super) fill: Fill,
    pub(super) lease: Lease,
}

impl Vrt {
    /// Returns bands of a request, band after band, for a layer whose source is a nested mosaic.
    pub(super) fn planes(&self, which: &[Which], request: (Part, Part), call: &Call<'_>) -> Result<Composed> {
        self.compose(self.expand(which, request, call)?, call)
    }

    /// Composes all items at the location of the call. Failed sources are skipped if that is allowed; then the pixels
    /// must be discarded.
    pub(super) fn compose(&self, expanded: Expanded, call: &Call<'_>) -> Result<Composed> {
        let engine = call.engine()?;
        if expanded.refused_by(engine.as_ref()).is_none() {
            return self.laid(expanded, call);
        }
        let Composed { output, fill, lease: _held } = self.laid(expanded, &call.on_host())?;
        let (there, lease) = call.output(output.spec().clone(), PIXELS)?;
        moved_to(output, Interleave::BandFirst, engine.as_ref(), &there, call.context())?;
        Ok(Composed { output: there, fill, lease })
    }

    /// Composes all items with the engine of the call.
    fn laid(&self, expanded: Expanded, call: &Call<'_>) -> Result<Composed> {
        let Expanded { data_type, size: (columns, rows), bands, .. } = expanded;
        let spec = OutputSpec::band_first(data_type, bands, rows, columns);
        let (output, lease) = call.output(spec.map_err(|error| call.unfit(error))?, PIXELS)?;
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
        self.run(&expanded, &first, &output, call)?;
        for group in &expanded.groups {
            let mut items = group.items.get(leading(&group.items)..).unwrap_or_default();
            while let Some((first, rest)) = items.split_first() {
                if let What::Layer(layer) = &first.what {
                    let laid = layer.lay(&output, &layer.chain, call);
                    laid.or_else(|error| self.go_without(first.file, error, call))?;
                    call.advance(1);
                    items = rest;
                    continue;
                }
                let (run, rest) = items.split_at(leading(items));
                self.run(&expanded, &[Run { group, items: run, fills: false }], &output, call)?;
                items = rest;
            }
        }
        let fill = expanded.groups.first().and_then(|group| group.fills.first()).copied();
        Ok(Composed { output, fill: fill.unwrap_or_default(), lease })
    }

    /// Reads rectangles of files into memory that is leased, with one read.
    fn run(&self, expanded: &Expanded, runs: &[Run<'_>], output: &Output, call: &Call<'_>) -> Result<()> {
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
            blended_at: Location::Host,
            named: Vec::new(),
        };
        if let Err(error) = read_into(&canvas, output, sources, call) {
            self.go_without_all(&named(&canvas), error, call)?;
        }
        Ok(())
    }
}

fn read_into(canvas: &Canvas, output: &Output, sources: u64, call: &Call<'_>) -> Result<()> {
    let requests = [Request::of_mosaic(canvas, None)];
    // Decoded where the output is, even if slower: a detour via the host would overwrite existing pixels.
    let execution = match call.place() {
        Location::Host => *call.execution(),
        Location::Cuda(index) => call.execution().decode_on(Processor::Cuda(index)),
    };
    let options = ReadOptions::new().execution(execution);
    let asked = Asked::one(&requests, &options);
    let share = Share::new(sources, call);
    let reading = share.reading_into_held(asked, call.place())?;
    let (_, faults) = reading.read_into(output)?;
    share.complete();
    call.found_by(faults);
    Ok(())
}

impl Layer {
    /// Blends the source onto its bands of an output. `chain` are the mosaics that are entered before.
    fn lay(&self, output: &Output, chain: &[Arc<InUse>], call: &Call<'_>) -> Result<()> {
        if let Some((mosaic, rest)) = chain.split_first() {
            return match mosaic.opened.as_ref() {
                Opened::Mosaic(vrt) => self.lay(output, rest, &call.inside(vrt)),
                Opened::File(_) | Opened::Warped(_) => Err(Error::Engine(EngineError::Abandoned)),
            };
        }
        let Some((_, first)) = self.pairs.first() else { return Ok(()) };
        let opened = self.source.opened.as_ref();
        let engine = call.engine()?;
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
            let samples = match is_constant {
                // Values are irrelevant: all of them become the same.
                true => Samples::One(data_type, Fill::default()),
                false => opened.sample(&content, &sampling, rows.clone(), call)?,
            };
            let picked = opened.picked(&sampling, &rows, call)?;
            // The mask of all bands, after it was read.
            let mut shared: Option<Samples> = None;
            for (band, (onto, source)) in (0u32..).zip(&self.pairs) {
                let nodata = nodata_of(opened, source);
                let own = match nodata {
                    None if shared.is_none() => mask_of(source, opened, &sampling, rows.clone(), call)?,
                    _ => None,
                };
                let mask = match nodata {
                    None => own.as_ref().or(shared.as_ref()).filter(|_| uses_mask(source)),
                    Some(_) => None,
                };
                let job = BlendJob {
                    band: self.band + band,
                    at: (self.corner.0 + across.out, self.corner.1 + down.out + rows.start),
                    size: (across.part.count, rows.end - rows.start),
                    columns: picked.columns.clone(),
                    rows: picked.rows.clone(),
                    blend: onto.blend(opened, source),
                };
                let (pixels, mask) = (samples.band(band), mask.and_then(|mask| mask.band(0)));
                let laid = match (&samples, &pixels) {
                    (Samples::One(data_type, sample), _) => BlendSamples::One(*data_type, *sample),
                    (_, Some(pixels)) => BlendSamples::Pixels(pixels),
                    _ => return Err(Error::Engine(EngineError::Abandoned)),
                };
                let layer = BlendLayer { samples: laid, mask: mask.as_ref() };
                engine.blend(&job, &layer, output, call.context())?;
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

/// Returns the validity of a source that is blended by its mask.
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
