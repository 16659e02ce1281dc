//! Gathers pixels of a level: takes pieces of any shape, and returns whole cells.
//!
//! A cell is a tile, or a few strips. It is opened when its first pixel arrives and leaves when its last one has
//! arrived, so memory holds the parts of incomplete cells: none for pieces cut along cells, one row of them for rows of
//! pixels from top to bottom. A cell that lies in one piece in the memory of the engine is a view of it; the engine
//! assembles the others.

use super::coverage::Coverage;
use super::plan::LevelPlan;
use crate::Window;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use strile_cpu::put;
use strile_engine::memory::try_zeroed;
use strile_engine::{
    Assembly, Context, Engine, EngineError, Given, Lease, Location, OutputSpec, Patch, SharedPixels,
};
use strile_tiff::{DataType, Planar};

/// Pixels of a level to take in.
pub(crate) struct Deposit<'a> {
    pub(crate) window: Window,
    pub(crate) pixels: Given<'a>,
    pub(crate) mask: Option<Given<'a>>,
    /// Whether nothing else changes them: then parts may be kept in place.
    pub(crate) lasting: bool,
}

/// A complete cell.
pub(crate) struct Cell {
    pub(crate) level: usize,
    pub(crate) column: u32,
    pub(crate) row: u32,
    pub(crate) window: Window,
    pub(crate) pixels: SharedPixels,
    /// 1 for valid pixels, 0 for others.
    pub(crate) mask: Option<SharedPixels>,
    /// Bytes that it takes in addition to the memory it is a view of.
    pub(crate) bytes: u64,
    _leases: (Option<Lease>, Option<Lease>),
}

/// The cells of one level, or of a part of it.
pub(crate) struct Cells {
    level: usize,
    /// Pixels that arrive. Cells end at its edges.
    extent: Window,
    cell: (u32, u32),
    columns: Range<u32>,
    rows: Range<u32>,
    planar: Planar,
    masked: bool,
    open: HashMap<(u32, u32), Open>,
    done: Vec<u64>,
    left: u64,
}

/// An incomplete cell.
#[derive(Default)]
struct Open {
    covered: Coverage,
    /// Pixels from the host, in place.
    begun: Option<Begun>,
    /// Pixels that stay in their memory, on a device or as produced.
    parts: Vec<Part>,
}

/// An incomplete cell in host memory.
struct Begun {
    spec: OutputSpec,
    pixels: Vec<u8>,
    mask: Option<Vec<u8>>,
    covered: Coverage,
    bytes: u64,
    lease: Lease,
}

/// A rectangle of a cell, and its pixels.
struct Part {
    window: Window,
    pixels: SharedPixels,
    mask: Option<SharedPixels>,
}

/// A completed cell with its parts. `Cells::close` assembles it.
pub(crate) struct Whole {
    column: u32,
    row: u32,
    window: Window,
    parts: Vec<Part>,
    /// The rectangle of the cell that comes from the deposit itself; `None` if it was taken in already.
    rest: Option<Window>,
    /// Bytes of its parts in host memory, and their lease.
    lease: Option<(u64, Lease)>,
    /// Whether masks of its parts are as given: those of cells consist of ones and zeros.
    raw_masks: bool,
}

impl Cells {
    /// Creates cells of `cell` columns and rows: those of the plan's level, or larger ones if none of them is encoded.
    pub(crate) fn new(
        (level, plan): (usize, &LevelPlan),
        cell: (u32, u32),
        planar: Planar,
        extent: Window,
    ) -> Self {
        let cells = |start: u32, len: u32, cell: u32| start / cell..(start + len).div_ceil(cell);
        let columns = cells(extent.column, extent.width, cell.0);
        let rows = cells(extent.row, extent.height, cell.1);
        let left = columns.len() as u64 * rows.len() as u64;
        let words = usize::try_from(left.div_ceil(64)).unwrap_or(usize::MAX);
        Self {
            level,
            extent,
            cell,
            columns,
            rows,
            planar,
            masked: plan.mask.is_some(),
            open: HashMap::new(),
            done: vec![0; words],
            left,
        }
    }

    /// Returns their level.
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Returns the columns and rows of cells.
    pub(crate) fn places(&self) -> (Range<u32>, Range<u32>) {
        (self.columns.clone(), self.rows.clone())
    }

    fn window(&self, column: u32, row: u32) -> Window {
        let cut = |first: u32, cell: u32, start: u32, len: u32| {
            let from = first.saturating_mul(cell).max(start);
            (from, first.saturating_add(1).saturating_mul(cell).min(start + len) - from)
        };
        let (x, width) = cut(column, self.cell.0, self.extent.column, self.extent.width);
        let (y, height) = cut(row, self.cell.1, self.extent.row, self.extent.height);
        Window::new(x, y, width, height)
    }

    /// Returns the cells that share pixels with a window, in row-major order.
    pub(crate) fn touched(&self, window: &Window) -> impl Iterator<Item = (u32, u32)> + use<> {
        let Window { column: x, row: y, width, height } = *window;
        let (across, down) = self.cell;
        let columns = x / across..=(x + width - 1) / across;
        let rows = y / down..=(y + height - 1) / down;
        rows.flat_map(move |row| columns.clone().map(move |column| (column, row)))
    }

    /// Takes in the pixels of one cell. Returns the parts of the cell if they complete it; otherwise keeps them.
    pub(crate) fn add(
        &mut self,
        (column, row): (u32, u32),
        given: &Deposit<'_>,
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<Option<Whole>> {
        let window = self.window(column, row);
        let Some(part) = window.intersection(&given.window) else { return Ok(None) };
        let twice = || refused(format!("pixels of {part} are given twice"));
        if self.is_done(column, row) {
            return Err(twice());
        }
        let local = Window { column: part.column - window.column, row: part.row - window.row, ..part };
        let covered =
            self.open.get(&(column, row)).map_or(Ok(0), |open| match open.covered.meets(&local) {
                true => Err(twice()),
                false => Ok(open.covered.pixels()),
            })?;
        let complete = covered + pixels_of(&part) == pixels_of(&window);
        if complete && self.open.get(&(column, row)).is_none_or(|open| open.begun.is_none()) {
            self.set_done(column, row);
            let mut parts = self.open.remove(&(column, row)).map_or_else(Vec::new, |open| open.parts);
            // A cell that keeps its parts alive outlives the deposit: cells of many deposits are assembled at once.
            let last = if given.lasting { self.view(given, part, local) } else { None };
            let (rest, raw_masks) = (last.is_none().then_some(part), last.is_some());
            parts.extend(last);
            return Ok(Some(Whole { column, row, window, parts, rest, lease: None, raw_masks }));
        }
        // Nothing is changed before this has succeeded, so the caller can retry if memory is short.
        self.keep((column, row), &window, given, (part, local), engine, context)?;
        Ok(if complete { self.complete((column, row), window) } else { None })
    }

    /// Returns a view of a rectangle of a deposit, if it is not the caller's memory.
    fn view(&self, given: &Deposit<'_>, part: Window, local: Window) -> Option<Part> {
        let first = (part.column - given.window.column, part.row - given.window.row);
        let view = |given: Given<'_>| match given {
            Given::There(pixels) => pixels.part(first, (part.width, part.height)),
            Given::Host { .. } => None,
        };
        let mask = match given.mask.filter(|_| self.masked) {
            Some(mask) => Some(view(mask)?),
            None => None,
        };
        Some(Part { window: local, pixels: view(given.pixels)?, mask })
    }

    /// Keeps a part of a deposit: on a device in separate memory there, otherwise in place in a cell.
    fn keep(
        &mut self,
        at: (u32, u32),
        window: &Window,
        given: &Deposit<'_>,
        (part, local): (Window, Window),
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<()> {
        let first = (part.column - given.window.column, part.row - given.window.row);
        let size = (part.width, part.height);
        let masks = if self.masked { given.mask } else { None };
        let patch = |from, to| Patch { from, at: first, to, size };
        let there = match given.pixels {
            Given::There(pixels) if given.lasting || pixels.location() != Location::Host => Some(pixels),
            _ => None,
        };
        if let Some(pixels) = there {
            let part = match given.lasting {
                true => {
                    let outside = || refused(format!("{part} is not in the pixels given"));
                    self.view(given, part, local).ok_or_else(outside)?
                }
                false => {
                    let spec = self.spec(pixels.spec(), size, engine.location())?;
                    let mut wanted =
                        vec![Assembly { spec, mask: false, patches: vec![patch(given.pixels, (0, 0))] }];
                    if let Some(mask) = masks {
                        let (spec, patches) = (mask_spec(size)?, vec![patch(mask, (0, 0))]);
                        wanted.push(Assembly { spec, mask: true, patches });
                    }
                    let mut made = engine.assemble(&wanted, context)?.into_iter();
                    let pixels = made.next().ok_or(EngineError::Abandoned)?;
                    Part { window: local, pixels, mask: made.next() }
                }
            };
            let open = self.open.entry(at).or_default();
            open.covered.add(local);
            open.parts.push(part);
            return Ok(());
        }
        let begun = match self.open.get_mut(&at).and_then(|open| open.begun.take()) {
            Some(begun) => begun,
            None => self.begin(given.pixels.spec(), window, engine.location(), context)?,
        };
        let open = self.open.entry(at).or_default();
        let begun = open.begun.insert(begun);
        put(&patch(given.pixels, (local.column, local.row)), false, &mut begun.pixels, &begun.spec)?;
        if let (Some(mask), Some(from)) = (&mut begun.mask, masks) {
            put(
                &patch(from, (local.column, local.row)),
                true,
                mask,
                &mask_spec((window.width, window.height))?,
            )?;
        }
        begun.covered.add(local);
        open.covered.add(local);
        Ok(())
    }

    fn begin(
        &self,
        given: &OutputSpec,
        window: &Window,
        place: Location,
        context: &Context,
    ) -> Result<Begun> {
        let spec = self.spec(given, (window.width, window.height), place)?;
        let len = spec.len().map_err(|error| refused(error.to_string()))?;
        let mask_len = if self.masked { window.width as usize * window.height as usize } else { 0 };
        let purpose = "pixels waiting for the rest of their block";
        let bytes = (len + mask_len) as u64;
        let lease = context.take_kept(bytes, purpose)?;
        let mask = match self.masked {
            true => Some(try_zeroed(mask_len, purpose)?),
            false => None,
        };
        Ok(Begun {
            spec,
            pixels: try_zeroed(len, purpose)?,
            mask,
            covered: Coverage::default(),
            bytes,
            lease,
        })
    }

    /// Returns a cell whose pixels were all kept.
    fn complete(&mut self, (column, row): (u32, u32), window: Window) -> Option<Whole> {
        let open = self.open.remove(&(column, row))?;
        self.set_done(column, row);
        let mut parts = open.parts;
        let mut lease = None;
        if let Some(begun) = open.begun {
            let mask_spec = mask_spec((window.width, window.height)).ok()?;
            let pixels = SharedPixels::new(begun.spec, Arc::new(begun.pixels)).ok()?;
            let mask =
                begun.mask.map(|mask| SharedPixels::new(mask_spec, Arc::new(mask))).transpose().ok()?;
            let part = |at: &Window| {
                let (at, size) = ((at.column, at.row), (at.width, at.height));
                let mask = mask.as_ref().and_then(|mask| mask.part(at, size));
                Some(Part {
                    window: Window::new(at.0, at.1, size.0, size.1),
                    pixels: pixels.part(at, size)?,
                    mask,
                })
            };
            parts.extend(begun.covered.parts().iter().filter_map(part));
            lease = Some((begun.bytes, begun.lease));
        }
        Some(Whole { column, row, window, parts, rest: None, lease, raw_masks: false })
    }

    /// Assembles the completed cells, all at once.
    pub(crate) fn close(
        &self,
        wholes: &mut [Whole],
        given: &Deposit<'_>,
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<Vec<Cell>> {
        let mut wanted = Vec::new();
        let mut found = Vec::with_capacity(wholes.len());
        for whole in wholes.iter() {
            let first = wanted.len();
            let (pixels, mask) = whole.sole(given, engine.location());
            if pixels.is_none() {
                let size = (whole.window.width, whole.window.height);
                let spec = self.spec(given.pixels.spec(), size, engine.location())?;
                wanted.push(whole.assembly(spec, false, given)?);
            }
            if self.masked && mask.is_none() {
                let spec = mask_spec((whole.window.width, whole.window.height))?;
                wanted.push(whole.assembly(spec, true, given)?);
            }
            let bytes = bytes_of(wanted.get(first..).unwrap_or_default())?;
            let on_host = engine.location() == Location::Host && bytes > 0;
            let purpose = "pixels waiting to be encoded";
            let lease = if on_host { Some(context.take_kept(bytes, purpose)?) } else { None };
            found.push((pixels, mask, bytes, lease));
        }
        let made = if wanted.is_empty() { Vec::new() } else { engine.assemble(&wanted, context)? };
        drop(wanted);
        let mut made = made.into_iter();
        let mut next = || made.next().ok_or(Error::Engine(EngineError::Abandoned));
        let mut cells = Vec::with_capacity(wholes.len());
        for (whole, (pixels, mask, bytes, lease)) in wholes.iter_mut().zip(found) {
            let pixels = pixels.map_or_else(&mut next, Ok)?;
            let mask = match mask {
                None if self.masked => Some(next()?),
                mask => mask,
            };
            let kept = whole.lease.take();
            cells.push(Cell {
                level: self.level,
                column: whole.column,
                row: whole.row,
                window: whole.window,
                pixels,
                mask,
                bytes: bytes + kept.as_ref().map_or(0, |(bytes, _)| *bytes),
                _leases: (kept.map(|(_, lease)| lease), lease),
            });
        }
        Ok(cells)
    }

    /// Returns the shape of a cell: as the file stores samples, or, on the host, as they are given. The threads that
    /// encode there interleave bands row by row, whereas one thread gathers cells and copies whole rows.
    fn spec(&self, given: &OutputSpec, (columns, rows): (u32, u32), place: Location) -> Result<OutputSpec> {
        let given_by_bands = given.bands > 1 && given.strides.column < given.strides.band;
        let by_bands = match self.planar {
            Planar::Chunky => place == Location::Host && given_by_bands,
            Planar::Separate => true,
        };
        let spec = match by_bands {
            true => OutputSpec::band_first(given.data_type, given.bands, rows, columns),
            false => OutputSpec::band_last(given.data_type, given.bands, rows, columns),
        };
        spec.map_err(|error| refused(error.to_string()))
    }

    fn bit(&self, column: u32, row: u32) -> (usize, u64) {
        let across = self.columns.len() as u64;
        let index = u64::from(row - self.rows.start) * across + u64::from(column - self.columns.start);
        (usize::try_from(index / 64).unwrap_or(usize::MAX), 1 << (index % 64))
    }

    fn is_done(&self, column: u32, row: u32) -> bool {
        let (word, bit) = self.bit(column, row);
        self.done.get(word).is_some_and(|word| word & bit != 0)
    }

    fn set_done(&mut self, column: u32, row: u32) {
        let (word, bit) = self.bit(column, row);
        if let Some(word) = self.done.get_mut(word) {
            *word |= bit;
        }
        self.left -= 1;
    }

    /// Returns the window of the first incomplete cell.
    pub(crate) fn missing(&self) -> Option<Window> {
        if self.left == 0 {
            return None;
        }
        let first = |row: u32| self.columns.clone().find(|&column| !self.is_done(column, row));
        self.rows.clone().find_map(|row| first(row).map(|column| self.window(column, row)))
    }
}

impl Whole {
    /// Returns the bytes of its pixels and its mask.
    pub(crate) fn bytes(&self, given: &OutputSpec) -> u64 {
        let pixel = given.data_type.size() as u64 * u64::from(given.bands) + 1;
        pixels_of(&self.window) * pixel
    }

    /// Returns its pixels and its mask, if they are completely in memory of this location and stay there.
    fn sole(&self, given: &Deposit<'_>, place: Location) -> (Option<SharedPixels>, Option<SharedPixels>) {
        let whole =
            |window: &Window| (window.width, window.height) == (self.window.width, self.window.height);
        if let ([part], None) = (&self.parts[..], self.rest) {
            let here = whole(&part.window) && part.pixels.location() == place;
            let mask = part.mask.clone().filter(|_| !self.raw_masks);
            return if here { (Some(part.pixels.clone()), mask) } else { (None, None) };
        }
        let (Given::There(pixels), Some(rest)) = (given.pixels, self.rest) else { return (None, None) };
        let stays = given.lasting || place != Location::Host;
        if !whole(&rest) || pixels.location() != place || !stays {
            return (None, None);
        }
        let at = (self.window.column - given.window.column, self.window.row - given.window.row);
        // Masks are converted to ones and zeros first.
        (pixels.part(at, (self.window.width, self.window.height)), None)
    }

    /// Returns the parts of its pixels, or of its mask: those that were kept and the rest.
    fn assembly<'a>(&'a self, spec: OutputSpec, mask: bool, given: &Deposit<'a>) -> Result<Assembly<'a>> {
        let missing = || refused(format!("the mask of {} is missing", self.window));
        let mut patches = Vec::with_capacity(self.parts.len() + 1);
        for part in &self.parts {
            let from = if mask { part.mask.as_ref().ok_or_else(missing)? } else { &part.pixels };
            let Window { column: x, row: y, width, height } = part.window;
            let from = Given::There(from);
            patches.push(Patch { from, at: (0, 0), to: (x, y), size: (width, height) });
        }
        if let Some(rest) = self.rest {
            patches.push(Patch {
                from: if mask { given.mask.ok_or_else(missing)? } else { given.pixels },
                at: (rest.column - given.window.column, rest.row - given.window.row),
                to: (rest.column - self.window.column, rest.row - self.window.row),
                size: (rest.width, rest.height),
            });
        }
        Ok(Assembly { spec, mask, patches })
    }
}

fn pixels_of(window: &Window) -> u64 {
    u64::from(window.width) * u64::from(window.height)
}

fn mask_spec((columns, rows): (u32, u32)) -> Result<OutputSpec> {
    OutputSpec::band_first(DataType::U8, 1, rows, columns).map_err(|error| refused(error.to_string()))
}

fn bytes_of(wanted: &[Assembly<'_>]) -> Result<u64> {
    let lens = wanted.iter().map(|wanted| wanted.spec.len().map(|len| len as u64));
    lens.sum::<std::result::Result<u64, _>>().map_err(|error| refused(error.to_string()))
}

/// Returns an error about a request. The writer adds the name of the file.
pub(crate) fn refused(problem: String) -> Error {
    Error::Request { file: String::new(), problem }
}
