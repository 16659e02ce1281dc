//! A window of a mosaic in the form of `crate::read`: disjoint rectangles of files, or blended pixels.

use super::Vrt;
use super::call::Call;
use super::carve::{Carved, carve};
use super::compose::Composed;
use super::expand::{Expanded, Group, Item, What, Which};
use super::missing::{Conversions, MaskBy};
use super::opened::Opened;
use super::place::Part;
use crate::error::{Error, FaultyFile, Result};
use crate::options::{Meaning, Place};
use crate::read::{Blended, Canvas, CanvasMask, Content, Frame, Gap, Tile, alike};
use crate::source::{MemorySource, ReadDone, ReadOp, Source, Version};
use crate::window::Window;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, mpsc};
use strile_engine::{Cancel, EngineError, Fill, Lease, Location, ReadAt, Sought, Span};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Cost of a rectangle, in samples that are placed.
const RECTANGLE: u64 = 64;
/// Number of rectangles of one block, and of their pixels, that an engine places by decoding the block once. The limits
/// are those of the CPU.
const TOGETHER: u64 = 64;
const TOGETHER_PIXELS: u64 = 1 << 22;
/// Memory per rectangle while it is found and planned, in bytes.
const RECTANGLE_BYTES: u64 = 256;
const RECTANGLES: &str = "the rectangles of a mosaic";

/// A requested window of a mosaic.
pub(crate) struct Wanted {
    which: Vec<Which>,
    /// Numbers of the bands, from 1.
    bands: Vec<u16>,
    frame: Frame,
    inside: Option<Window>,
    pub(super) conversions: Conversions,
    /// For a mask by nodata: the samples that are missing.
    pub(super) missing: Vec<Sought>,
    /// `false` for a plan: nothing is blended.
    pixels: bool,
}

/// A window that is ready to be read.
pub(crate) struct Made {
    pub(crate) canvas: Canvas,
    /// Its pixels, if there are layers and they were blended.
    pub(super) blended: Option<Composed>,
    /// Number of its sources.
    pub(super) sources: u64,
    _leases: Vec<Lease>,
    _expanded: Vec<Expanded>,
}

/// Files of a mosaic's rectangles, by their names.
pub(crate) type Named = BTreeMap<String, u32>;

impl Made {
    /// Returns the mosaic, and those of its files that may fail.
    pub(crate) fn named(&self) -> (usize, Named) {
        (self.canvas.mosaic, named(&self.canvas))
    }

    /// Completes the canvas: blended pixels are read like those of a file.
    pub(crate) fn ready(mut self) -> Result<Self> {
        if let Some(Composed { output, lease, .. }) = self.blended.take() {
            self._leases.push(lease);
            let device = output.device_bytes().map(|bytes| Blended::Device(bytes.len(), Some(bytes.clone())));
            let blended = match device {
                Some(device) => device,
                None => {
                    let pixels = output.into_vec().ok_or(Error::Engine(EngineError::Abandoned))?;
                    Blended::Host(Arc::new(MemorySource::new(self.canvas.name.clone(), pixels)))
                }
            };
            self.canvas.content = Content::Blended(blended);
        }
        Ok(self)
    }
}

/// Returns the files of a canvas's rectangles.
pub(super) fn named(canvas: &Canvas) -> Named {
    let mut named = Named::new();
    for canvas in std::iter::once(canvas).chain(canvas.mask.as_ref().map(|mask| &mask.canvas)) {
        if let Content::Files { tiles, .. } = &canvas.content {
            named.extend(tiles.iter().map(|tile| (tile.dataset.name().to_owned(), tile.file)));
        }
    }
    named
}

/// Returns the file that an error concerns.
pub(super) fn file_of(named: &Named, error: &Error) -> Option<u32> {
    match error {
        Error::Blocks { file, .. } | Error::File { file, .. } => named.get(file).copied(),
        Error::Io { path, .. } => named.get(path.to_str()?).copied(),
        Error::Window { error, .. } => file_of(named, error),
        _ => None,
    }
}

/// Splits an error of several files into one error per file.
pub(super) fn by_file(error: Error) -> Vec<Error> {
    match error {
        Error::Blocks { file, first, count, also } => {
            let own = count.saturating_sub(also.iter().map(|other| other.count).sum());
            let first = Error::Blocks { file, first, count: own, also: Box::default() };
            let others = also.into_iter().map(|FaultyFile { file, first, count }| {
                let also = Box::default();
                Error::Blocks { file, first, count, also }
            });
            std::iter::once(first).chain(others).collect()
        }
        Error::Window { window, area, error } => {
            let mut all = by_file(*error);
            // The other files may belong to other windows.
            if let Some(first) = all.first_mut() {
                let error = Box::new(std::mem::replace(first, Error::Cancelled));
                *first = Error::Window { window, area, error };
            }
            all
        }
        other => vec![other],
    }
}

impl Vrt {
    /// Allows the work of a window, once for all passes over it.
    pub(crate) fn allow(&self, wanted: &Wanted, call: &Call<'_>) {
        let Some(Window { width, height, .. }) = wanted.inside else { return };
        let pixels = u64::from(width).saturating_mul(height.into());
        let bands = wanted.which.len() + usize::from(wanted.conversions.mask.is_some());
        call.allow(pixels.saturating_mul(bands as u64));
    }

    /// Skips all sources that an error names, so that the rest is read again only once.
    pub(super) fn go_without_all(&self, named: &Named, error: Error, call: &Call<'_>) -> Result<()> {
        if self.raises() || !call.is_outermost() {
            return Err(error);
        }
        for error in by_file(error) {
            match file_of(named, &error) {
                Some(file) => self.go_without(file, error, call)?,
                None => return Err(error),
            }
        }
        Ok(())
    }

    /// Requests bands of a window. `pixels` is `false` for a plan.
    pub(crate) fn wanted(
        &self,
        bands: &[u16],
        (frame, inside): (Frame, Option<Window>),
        (place, meaning): (&Place, &Meaning),
        pixels: bool,
    ) -> Result<Wanted> {
        let which = bands.iter().map(|&band| Which::Band(band)).collect();
        let conversions = self.conversions(bands, place, meaning)?;
        let missing = Vec::new();
        Ok(Wanted { which, bands: bands.to_vec(), frame, inside, conversions, missing, pixels })
    }

    /// Requests the mask band of a window.
    pub(super) fn wanted_mask(&self, window: Window, pixels: bool) -> Wanted {
        let (frame, inside) = (Frame::exactly(window), Some(window));
        Wanted {
            which: vec![Which::Mask],
            bands: vec![1],
            frame,
            inside,
            conversions: Conversions::default(),
            missing: Vec::new(),
            pixels,
        }
    }

    /// Returns the nodata value of some bands. Fails if they differ.
    pub(crate) fn one_nodata(&self, bands: &[u16]) -> Result<Option<NoData>> {
        let text = |band: u16| self.nodata(band).map(NoData::to_text);
        let mut others = bands.iter().skip(1);
        let Some(&first) = bands.first() else { return Ok(None) };
        match others.find(|&&band| text(band) != text(first)) {
            None => Ok(self.nodata(first)),
            Some(other) => Err(self.refuse(format!(
                "bands {first} and {other} differ in nodata: read them one at a time, or the pixels as they are"
            ))),
        }
    }

    /// Fails for bands that differ in the value of pixels outside the image.
    pub(crate) fn check_one_fill(&self, bands: &[u16]) -> Result<()> {
        let fill = |band: u16| self.band(Which::Band(band)).map(|(band, _)| band.fill);
        let mut others = bands.iter().skip(1);
        let Some(&first) = bands.first() else { return Ok(()) };
        match others.find(|&&band| fill(band) != fill(first)) {
            None => Ok(()),
            Some(other) => Err(self.refuse(format!(
                "bands {first} and {other} differ in nodata, which pixels outside the image have: give a `fill`, or \
                 read them one at a time"
            ))),
        }
    }

    /// Finds the parts of a window and its mask, and blends their layers.
    pub(crate) fn made(&self, wanted: &Wanted, call: &Call<'_>) -> Result<Made> {
        let Some(by) = &wanted.conversions.mask else { return self.made_alone(wanted, call) };
        let MaskBy { which, missing, ref runs } = *by;
        let Wanted { frame, inside, pixels, .. } = *wanted;
        let number = if let Which::Band(band) = which { band } else { 1 };
        let mask = Wanted {
            which: vec![which],
            bands: vec![number],
            frame,
            inside,
            conversions: Conversions::default(),
            missing: Vec::new(),
            pixels,
        };
        let before = call.faults();
        loop {
            call.keep_faults(before);
            let mut made = self.made_alone(wanted, call)?;
            let known = call.set_aside().len();
            let Made { canvas, sources, _leases, _expanded, .. } = self.made_alone(&mask, call)?.ready()?;
            // Pixels and mask must be of the same sources.
            if call.set_aside().len() != known {
                continue;
            }
            made.canvas.mask = Some(Box::new(CanvasMask { canvas, missing, runs: runs.clone() }));
            made.sources += sources;
            made._leases.extend(_leases);
            made._expanded.extend(_expanded);
            return Ok(made);
        }
    }

    /// Finds the parts of a window, and blends its layers. If sources fail and are skipped, everything is repeated: no
    /// source is placed partly.
    fn made_alone(&self, wanted: &Wanted, call: &Call<'_>) -> Result<Made> {
        let Some(inside) = wanted.inside else {
            let canvas = self.canvas(wanted, Content::Files { tiles: Vec::new(), gaps: Vec::new() });
            return Ok(Made {
                canvas,
                blended: None,
                sources: 0,
                _leases: Vec::new(),
                _expanded: Vec::new(),
            });
        };
        let part = |start: u32, count: u32| Part { start: start.into(), size: count.into(), count };
        let request = (part(inside.column, inside.width), part(inside.row, inside.height));
        let before = call.faults();
        loop {
            call.keep_faults(before);
            let known = call.set_aside().len();
            let expanded = self.expand(&wanted.which, request, call)?;
            if call.set_aside().len() != known {
                continue;
            }
            let layers = expanded.layers();
            if layers == 0 {
                let (content, lease) = expanded.content(wanted.conversions.unpackings.len() > 1, call)?;
                let sources = expanded.groups.first().map_or(0, |group| group.items.len()) as u64;
                let canvas = self.canvas(wanted, content);
                let (_leases, _expanded) = (vec![lease], vec![expanded]);
                return Ok(Made { canvas, blended: None, sources, _leases, _expanded });
            }
            let (len, named) = (expanded.len(), expanded.named_layers());
            let place = call.place();
            let unread = match place {
                Location::Host => Blended::Host(Arc::new(Unread { len })),
                Location::Cuda(_) => Blended::Device(len, None),
            };
            let refused = expanded.refused_by(call.engine()?.as_ref());
            let mut made = Made {
                canvas: self.canvas(wanted, Content::Blended(unread)),
                blended: None,
                sources: 0,
                _leases: Vec::new(),
                _expanded: Vec::new(),
            };
            (made.canvas.blended, made.canvas.named) = (layers, named);
            made.canvas.blended_at = if refused.is_some() { Location::Host } else { place };
            if wanted.pixels {
                let composed = self.compose(expanded, call)?;
                if call.set_aside().len() != known {
                    continue;
                }
                made.blended = Some(composed);
            }
            return Ok(made);
        }
    }

    fn canvas(&self, wanted: &Wanted, content: Content) -> Canvas {
        let bands = || wanted.which.iter().filter_map(|&which| self.band(which)).map(|(band, _)| band);
        let fills: Vec<Fill> = bands().map(|band| Fill(band.fill)).collect();
        let is_mask = wanted.which.first() == Some(&Which::Mask);
        let data_type = bands().next().map_or(DataType::U8, |band| band.data_type);
        let nodata = |band: &u16| self.nodata(*band).filter(|_| !is_mask);
        Canvas {
            name: self.name.clone(),
            mosaic: std::ptr::from_ref(self).addr(),
            image: (self.width, self.height),
            data_type,
            bands: wanted.bands.clone(),
            fills,
            nodatas: wanted.bands.iter().map(nodata).collect(),
            missing: wanted.missing.clone(),
            unpackings: wanted.conversions.unpackings.clone(),
            mask: None,
            frame: wanted.frame,
            inside: wanted.inside,
            content,
            blended: 0,
            blended_at: Location::Host,
            named: Vec::new(),
        }
    }
}

/// Some of the items of a group's bands.
pub(super) struct Run<'e> {
    pub(super) group: &'e Group,
    pub(super) items: &'e [Item],
    /// Whether nothing lies below: pixels without an item are a gap.
    pub(super) fills: bool,
}

impl Expanded {
    /// Returns the size of its pixels in bytes.
    pub(super) fn len(&self) -> u64 {
        let pixels = u64::from(self.size.0).saturating_mul(u64::from(self.size.1));
        pixels.saturating_mul(u64::from(self.bands)).saturating_mul(self.data_type.size() as u64)
    }

    /// Returns all of it, which has no layers, as disjoint rectangles; of one band each with `apart`.
    fn content(&self, apart: bool, call: &Call<'_>) -> Result<(Content, Lease)> {
        let run = |group| Run { group, items: &group.items, fills: true };
        self.cut(&self.groups.iter().map(run).collect::<Vec<_>>(), apart, call)
    }

    /// Cuts runs without layers into disjoint rectangles.
    pub(super) fn cut(&self, runs: &[Run<'_>], apart: bool, call: &Call<'_>) -> Result<(Content, Lease)> {
        let mut cut = Cut { size: self.size, call, tiles: Vec::new(), gaps: Vec::new() };
        for run in runs {
            let bands = u32::try_from(run.group.fills.len()).unwrap_or(u32::MAX);
            // If all sources have all bands, they are cut once for all bands.
            let each = match !apart && run.items.iter().all(|item| item.bands == (run.group.first, bands)) {
                true => bands.max(1),
                false => 1,
            };
            for first in (0..bands).step_by(each as usize) {
                cut.add(run, first, each)?;
            }
        }
        let Cut { tiles, gaps, .. } = cut;
        let count = (tiles.len() + gaps.len()) as u64;
        let lease = call.take(count.saturating_mul(RECTANGLE_BYTES), RECTANGLES)?;
        Ok((Content::Files { tiles, gaps }, lease))
    }
}

/// Rectangles of a source whose blocks are decoded once.
#[derive(Default)]
struct Together {
    source: Option<usize>,
    rectangles: u64,
    pixels: u64,
}

impl Together {
    /// Adds a rectangle. Returns `true` if its blocks are decoded again for it.
    fn again(&mut self, source: usize, window: &Window, block: u64) -> bool {
        let pixels = u64::from(window.width) * u64::from(window.height);
        let is_new = self.source != Some(source);
        let (rectangles, all) = (self.rectangles + 1, self.pixels.saturating_add(pixels));
        // Rectangles are disjoint: only a large block has that many pixels.
        let is_full = rectangles > TOGETHER || (block > TOGETHER_PIXELS && all > TOGETHER_PIXELS);
        let (rectangles, pixels) = if is_new || is_full { (1, pixels) } else { (rectangles, all) };
        *self = Self { source: Some(source), rectangles, pixels };
        is_full && !is_new
    }
}

/// Rectangles while they are cut.
struct Cut<'e> {
    size: (u32, u32),
    call: &'e Call<'e>,
    tiles: Vec<Tile>,
    gaps: Vec<Gap>,
}

impl Cut<'_> {
    /// Cuts the items of some bands of a group, counted from its first.
    fn add(&mut self, run: &Run<'_>, first: u32, count: u32) -> Result<()> {
        let start = run.group.first + first;
        let on_them = |item: &&Item| item.bands.0 <= start && start < item.bands.0 + item.bands.1;
        let items: Vec<&Item> = run.items.iter().filter(on_them).collect();
        let rectangles: Vec<Window> = items.iter().map(|item| item.at).collect();
        let (done, mut told) = (self.tiles.len() + self.gaps.len(), 0);
        let call = self.call;
        let carved = carve(Window::full(self.size.0, self.size.1), &rectangles, |compared, found| {
            let more = found.saturating_sub(told) as u64;
            told = told.max(found);
            call.count((compared as u64).saturating_add(more.saturating_mul(RECTANGLE)))?;
            let bytes = ((done + found) as u64).saturating_mul(RECTANGLE_BYTES);
            Ok(call.context().budget.fits(bytes, RECTANGLES)?)
        });
        let Carved { seen, gaps } = carved?;
        let mut of: Option<(usize, Arc<[u16]>)> = None;
        let mut together = Together::default();
        for (number, at) in seen {
            let Some(item) = items.get(number) else { continue };
            match &item.what {
                What::Nothing(fill) => self.gaps.push(Gap { at, bands: (start, count), fill: *fill }),
                What::File { source, bands, from } => {
                    let Opened::File(leaf) = source.opened.as_ref() else { continue };
                    let bands = match &of {
                        Some((known, bands)) if *known == number => Arc::clone(bands),
                        _ if item.bands == (start, count) => Arc::clone(bands),
                        _ => {
                            let skipped = (start - item.bands.0) as usize;
                            bands.iter().copied().skip(skipped).take(count as usize).collect()
                        }
                    };
                    of = Some((number, Arc::clone(&bands)));
                    let x = from.0 + (at.column - item.at.column);
                    let y = from.1 + (at.row - item.at.row);
                    let window = Window { column: x, row: y, ..at };
                    if together.again(number, &window, leaf.block_pixels()) {
                        call.count(leaf.decoded(&window, bands.len()))?;
                    }
                    self.tiles.push(Tile {
                        dataset: Arc::clone(&leaf.dataset),
                        bands,
                        window,
                        at: (at.column, at.row),
                        band: start,
                        file: item.file,
                    });
                }
                What::Layer(_) => {}
            }
        }
        if run.fills {
            let fills = run.group.fills.iter().copied().skip(first as usize).take(count as usize);
            let fills: Vec<Fill> = fills.collect();
            for (offset, count, fill) in alike(&fills) {
                let bands = (start + offset, count);
                self.gaps.extend(gaps.iter().map(|&at| Gap { at, bands, fill }));
            }
        }
        Ok(())
    }
}

/// Pixels that a plan mentions but that were not computed.
struct Unread {
    len: u64,
}

impl Source for Unread {
    fn name(&self) -> &str {
        "blended pixels"
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn version(&self) -> Version {
        Version { len: self.len, mark: String::new() }
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &Cancel) {
        for ReadOp { id, into, .. } in ops {
            let _nobody_waits = done.send(ReadDone { id, into, result: Err(unread()) });
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        Some(Arc::new(Self { len: self.len }))
    }
}

impl ReadAt for Unread {
    fn read_at<'a>(&'a self, _span: Span, _scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        Err(unread())
    }
}

fn unread() -> io::Error {
    io::Error::other("the plan of a mosaic has no pixels")
}
