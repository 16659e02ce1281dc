//! Writes a raster given in pieces: a `flow` encodes them, and `store` writes its blocks to the file. The bytes of the
//! file depend only on the pixels, the options and the encoder.

use super::cells::refused;
use super::describe::{AUX_XML, Described, describe, merged};
use super::fields::directories_of;
use super::flow::{Course, Flow, Taker};
use super::index::LevelIndex;
use super::options::{Format, WriteOptions};
use super::piece::{Piece, PieceBytes};
use super::plan::{FullImage, WritePlan, plan_write};
use super::report::WriteReport;
use super::spec::RasterSpec;
use super::store::{Arrived, Store};
use crate::Window;
use crate::device;
use crate::error::{Error, Result};
use crate::sink::Sink;
use std::io::ErrorKind;
use std::sync::Arc;
use strile_engine::memory::probe;
use strile_engine::{
    BlockAddress, Cancel, Context, HostMemory, Lease, Location, OutputSpec, SharedPixels, lend,
};
use strile_tiff::{NewDirectory, Planar, Variant};

/// Fraction of the bytes of a raster in memory that encoded overviews may take while they wait in memory. They are a
/// third of its blocks, whatever their encoded size.
const OVERVIEWS_SHARE: u64 = 4;

/// Writes a GeoTIFF or COG piece by piece, in bounded memory.
///
/// Pieces may arrive in any order and any size. The target does not exist before [`finish`](Writer::finish); a writer
/// that is dropped leaves no file.
pub struct Writer {
    work: Option<Work>,
}

/// A file being written.
struct Work {
    flow: Flow<Store>,
    described: Described,
    pass: Pass,
    _index: Lease,
}

/// The purpose of the given pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// None was given yet.
    Open,
    /// All levels.
    Whole,
    /// The overviews, which precede the full image in the file. The whole image is given again later.
    Overviews,
    /// The full image, after the overviews.
    Image,
}

impl Writer {
    /// Starts a file in `sink`. The target does not exist before `finish`.
    pub fn create(
        sink: Box<dyn Sink>,
        spec: RasterSpec,
        options: &WriteOptions,
        context: &Context,
    ) -> Result<Self> {
        Self::create_from(sink, spec, options, FullImage::Encoded, context)
    }

    /// Like [`create`](Self::create), for a file whose full image comes from elsewhere.
    pub(crate) fn create_from(
        sink: Box<dyn Sink>,
        spec: RasterSpec,
        options: &WriteOptions,
        full: FullImage,
        context: &Context,
    ) -> Result<Self> {
        let name = sink.name().to_owned();
        Work::begin(sink, spec, options, full, context)
            .map(|work| Self { work: Some(work) })
            .map_err(|error| named(error, &name))
    }

    /// Describes the plan in words.
    pub fn explain(&self) -> String {
        self.work.as_ref().map(|work| work.flow.plan.to_string()).unwrap_or_default()
    }

    /// Returns the names of the engine and of its encoder.
    pub fn encoder(&self) -> (String, String) {
        let named = self.work.as_ref().map(|work| &work.flow.plan.engine);
        named.map(|(engine, _, encoder)| (engine.clone(), encoder.clone())).unwrap_or_default()
    }

    /// Returns the number of blocks to write, of all levels and masks.
    pub fn blocks(&self) -> u64 {
        self.work.as_ref().map_or(0, |work| work.flow.plan.blocks())
    }

    /// Returns where pixels are encoded; `None` after the file was abandoned.
    pub fn location(&self) -> Option<Location> {
        self.work.as_ref().map(|work| work.flow.engine.engine.location())
    }

    /// Returns the raster to write; `None` after the file was abandoned.
    pub(crate) fn spec(&self) -> Option<&RasterSpec> {
        self.work.as_ref().map(|work| work.flow.spec.as_ref())
    }

    /// Returns whether pixels are needed: not if all blocks are already encoded.
    pub(crate) fn needs_pixels(&self) -> bool {
        self.work.as_ref().is_some_and(Work::needs_pixels)
    }

    /// Starts a file whose pixels are given twice, first for its overviews and then, after `begin_image`, for its full
    /// image, from top to bottom each time: nothing of the full image is spooled. Returns `false` if that is impossible
    /// or useless; then pixels are given once.
    pub(crate) fn begin_overviews(&mut self) -> Result<bool> {
        self.attempt(|work| {
            let twice = work.has_overviews() && work.takes_overviews_first();
            if twice {
                work.begin_overviews(false);
            }
            Ok(twice)
        })
    }

    /// Ends the overviews.
    pub(crate) fn begin_image(&mut self) -> Result<()> {
        self.attempt(Work::begin_image)
    }

    /// Returns the rows of the full image that are encoded together.
    pub(crate) fn rows_of_cell(&self) -> u32 {
        let level = self.work.as_ref().and_then(|work| work.flow.plan.levels.first());
        level.map_or(0, |level| level.cell().1)
    }

    /// Takes a stored block of the full image; `None` for a sparse one.
    pub(crate) fn adopt(&mut self, address: BlockAddress, bytes: Option<&[u8]>) -> Result<()> {
        self.attempt(|work| work.put(address, false, bytes))
    }

    /// Writes a piece. Pieces may have any size and must not overlap. If the file is neither cloud-optimized nor
    /// spooled, they must come in row-major order.
    ///
    /// After an error the file is abandoned, and nothing is left of it.
    pub fn write(&mut self, piece: &Piece<'_>) -> Result<()> {
        self.attempt(|work| work.write(piece))
    }

    /// Writes a piece in host memory and takes its memory: blocks may be encoded from it after the call, too.
    pub(crate) fn write_owned(
        &mut self,
        (window, spec): (Window, OutputSpec),
        pixels: Vec<u8>,
        mask: Option<PieceBytes<'_>>,
    ) -> Result<()> {
        self.attempt(|work| work.write_owned((window, spec), pixels, mask))
    }

    /// Adds a small file that is placed beside the target with it, with `suffix` appended to its name. The last one per
    /// suffix counts. The writer's own metadata in `.aux.xml` is merged into it.
    pub fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> Result<()> {
        self.attempt(|work| add_sidecar(&mut work.flow.taker, &mut work.described, suffix, bytes))
    }

    /// Completes the file. It is at the target when this returns without an error, and not before.
    pub fn finish(mut self) -> Result<WriteReport> {
        let report = self.attempt(Work::finish)?;
        let Some(work) = self.work.take() else { return Ok(report) };
        let (name, cancel) = (work.flow.taker.name().to_owned(), work.flow.context.cancel.clone());
        let sink = work.flow.taker.into_sink();
        sink.commit().map_err(|error| stopped(&cancel, Error::io(name, error)))?;
        Ok(report)
    }

    /// Abandons the file, like dropping the writer.
    pub fn abort(mut self) {
        self.give_up();
    }

    fn attempt<T>(&mut self, step: impl FnOnce(&mut Work) -> Result<T>) -> Result<T> {
        let Some(work) = &mut self.work else {
            return Err(refused("the file was given up after an error".into()));
        };
        let result = step(work)
            .map_err(|error| stopped(&work.flow.context.cancel, named(error, work.flow.taker.name())));
        if result.is_err() {
            self.give_up();
        }
        result
    }

    fn give_up(&mut self) {
        if let Some(work) = self.work.take() {
            // Pixels that are still being encoded or reduced are not needed.
            work.flow.context.cancel.cancel();
            work.flow.taker.into_sink().abort();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Replaces the error of a sink that stopped waiting because the call was cancelled: it is not an error of the sink.
fn stopped(cancel: &Cancel, error: Error) -> Error {
    match &error {
        Error::Io { error: io, .. } if io.kind() == ErrorKind::Interrupted && cancel.is_cancelled() => {
            Error::Cancelled
        }
        _ => error,
    }
}

/// Adds the name of the file to an error that was made without it.
pub(crate) fn named(error: Error, name: &str) -> Error {
    match error {
        Error::Device { file, problem } if file.is_empty() => {
            Error::Device { file: name.to_owned(), problem }
        }
        Error::Request { file, problem } if file.is_empty() => {
            Error::Request { file: name.to_owned(), problem }
        }
        other => other,
    }
}

impl Work {
    fn begin(
        sink: Box<dyn Sink>,
        spec: RasterSpec,
        options: &WriteOptions,
        full: FullImage,
        context: &Context,
    ) -> Result<Self> {
        let device = |problem| Error::Device { file: String::new(), problem };
        let engine = device::choose_for_writing(options.encode_on).map_err(device)?;
        let plan =
            plan_write(&spec, options, full, (engine.engine.as_ref(), &engine.reason)).map_err(refused)?;
        let index = index_lease(&plan, context)?;
        // Problems of the description are reported before any pixel is requested.
        let described = described_by(&plan, &spec)?;
        let store = Store::new(sink, &plan, options)?;
        let course = Course::whole(&plan);
        let flow = Flow::new((Arc::new(plan), Arc::new(spec)), course, options, (engine, context), store)?;
        Ok(Self { flow, described, pass: Pass::Open, _index: index })
    }

    /// Writes a piece. One that is the whole raster is available until it has been written: it is read in place, and
    /// its overviews come first.
    fn write(&mut self, piece: &Piece<'_>) -> Result<()> {
        let image = Window::full(self.flow.spec.width, self.flow.spec.height);
        let whole = self.pass == Pass::Open && piece.window == image;
        match &piece.pixels {
            PieceBytes::Host(bytes) if whole && self.flow.reads_in_place(&piece.spec) => {
                lend(bytes, |memory| {
                    // A piece with too few bytes is refused later.
                    let shared = SharedPixels::in_memory(piece.spec.clone(), memory).ok();
                    let borrower = Borrower { work: self };
                    borrower.work.write_whole(piece, shared.as_ref())?;
                    borrower.work.flow.drain()
                })
            }
            _ if whole => self.write_whole(piece, None),
            _ => self.write_piece(piece, None),
        }
    }

    /// Writes a piece that is the whole raster.
    fn write_whole(&mut self, piece: &Piece<'_>, shared: Option<&SharedPixels>) -> Result<()> {
        if self.takes_overviews_first() {
            self.hold_overviews(piece.pixels.len());
            if self.has_overviews() {
                self.begin_overviews(shared.is_some());
                self.flow.write(piece, shared)?;
            }
            self.begin_image()?;
        }
        self.write_piece(piece, shared)
    }

    fn write_owned(
        &mut self,
        (window, spec): (Window, OutputSpec),
        pixels: Vec<u8>,
        mask: Option<PieceBytes<'_>>,
    ) -> Result<()> {
        let of =
            |bytes| Piece { window, spec: spec.clone(), pixels: PieceBytes::Host(bytes), mask: mask.clone() };
        let image = Window::full(self.flow.spec.width, self.flow.spec.height);
        let whole = self.pass == Pass::Open && window == image;
        let need = spec.len().ok().filter(|need| *need <= pixels.len());
        // A part of a cell that is kept in place needs its mask there, too, and masks are copied into cells.
        let Some(need) = need.filter(|_| !whole && mask.is_none() && self.flow.reads_in_place(&spec)) else {
            return self.write(&of(&pixels));
        };
        let lease = match self.flow.lease(need as u64) {
            // Without memory for all of it at once, its blocks are copied one after the other.
            Err(Error::Memory { .. }) => return self.write(&of(&pixels)),
            lease => lease?,
        };
        let memory = Arc::new(Owned { pixels, _lease: lease });
        let shared = SharedPixels::in_memory(spec.clone(), Arc::clone(&memory) as _);
        let shared = shared.map_err(|error| refused(error.to_string()))?;
        self.write_piece(&of(&memory.pixels), Some(&shared))
    }

    fn write_piece(&mut self, piece: &Piece<'_>, shared: Option<&SharedPixels>) -> Result<()> {
        if self.pass == Pass::Open {
            self.pass = Pass::Whole;
        }
        self.flow.write(piece, shared)
    }

    fn takes_overviews_first(&self) -> bool {
        self.pass == Pass::Open && self.flow.taker.takes_overviews_first(&self.flow.plan)
    }

    /// Lets overviews wait in memory, if the pixels themselves, `bytes` bytes, are in memory and the budget allows it.
    fn hold_overviews(&mut self, bytes: u64) {
        let bytes = bytes / OVERVIEWS_SHARE;
        let lease = self.flow.context.take_kept(bytes, "encoded overviews");
        if let Ok(lease) = lease {
            self.flow.taker.hold(bytes, lease);
        }
    }

    fn has_overviews(&self) -> bool {
        self.flow.plan.levels.len() > 1
    }

    /// Starts the overviews. `lent` means that they come from one piece that the engine reads in place, in host memory.
    fn begin_overviews(&mut self, lent: bool) {
        self.flow.follow(&Course::overviews(&self.flow.plan, lent));
        self.flow.keep_overviews();
        self.pass = Pass::Overviews;
    }

    /// Ends the overviews. Those that are not encoded yet are encoded while the full image arrives; in the file they
    /// precede its first block, which is written after them. Those that were kept are encoded in the order of the file.
    fn begin_image(&mut self) -> Result<()> {
        let adopted = matches!(self.flow.plan.full, FullImage::Adopted(_));
        if self.has_overviews() {
            self.check_given()?;
            if adopted && !self.flow.keeps_overviews() { self.flow.drain() } else { self.flow.settle() }?;
        }
        let directories = self.directories();
        if self.flow.keeps_overviews() {
            self.flow.taker.expect_in_order(&directories)?;
            self.flow.encode_kept()?;
            if adopted {
                self.flow.drain()?;
            }
        } else {
            self.flow.taker.expect_image(directories);
        }
        self.flow.follow(&Course::image(&self.flow.plan));
        self.pass = Pass::Image;
        Ok(())
    }

    /// Fails if pixels were not given.
    fn check_given(&self) -> Result<()> {
        match self.flow.missing() {
            Some(window) => Err(refused(format!("pixels of {window} were never given"))),
            None => Ok(()),
        }
    }

    /// Returns the directories of the stored levels.
    fn directories(&self) -> Vec<(NewDirectory, Option<NewDirectory>)> {
        stored_directories((&self.flow.plan, &self.flow.spec), &self.described)
    }

    fn put(&mut self, address: BlockAddress, is_mask: bool, bytes: Option<&[u8]>) -> Result<()> {
        self.flow.blocks += 1;
        self.flow.sparse += u64::from(bytes.is_none());
        self.flow.taker.put(&Arrived { address, is_mask, bytes })
    }

    fn needs_pixels(&self) -> bool {
        let plan = &self.flow.plan;
        if self.pass == Pass::Image {
            return !matches!(plan.full, FullImage::Adopted(_));
        }
        let masked = plan.levels.first().is_some_and(|level| level.mask.is_some());
        !matches!(plan.full, FullImage::Adopted(_)) || masked || plan.levels.len() > 1
    }

    fn finish(&mut self) -> Result<WriteReport> {
        if self.needs_pixels() {
            self.check_given()?;
        }
        self.flow.drain()?;
        let described = std::mem::take(&mut self.described);
        let Flow { plan, spec, taker, blocks, sparse, .. } = &mut self.flow;
        complete((plan, spec), described, taker, (*blocks, *sparse))
    }
}

/// Pixels whose memory the caller gave away, and the lease of that memory until they are encoded.
#[derive(Debug)]
struct Owned {
    pixels: Vec<u8>,
    _lease: Lease,
}

impl HostMemory for Owned {
    fn bytes(&self) -> &[u8] {
        &self.pixels
    }
}

/// Work on memory that is lent for a call: however the call ends, the work has released the memory.
struct Borrower<'a> {
    work: &'a mut Work,
}

impl Drop for Borrower<'_> {
    fn drop(&mut self) {
        self.work.flow.let_go();
    }
}

/// Takes the memory of the index of a file.
pub(crate) fn index_lease(plan: &WritePlan, context: &Context) -> Result<Lease> {
    let cost = plan.levels.iter().map(LevelIndex::cost).fold(0u64, u64::saturating_add);
    let lease = context.take_kept(cost, "the index of the file's blocks")?;
    // Its tables are made at once, one after the other.
    probe(cost, "the index of the file's blocks")?;
    Ok(lease)
}

/// Returns the description of a planned file's raster.
pub(crate) fn described_by(plan: &WritePlan, spec: &RasterSpec) -> Result<Described> {
    let several = plan.planar == Planar::Separate && spec.bands > 1;
    let mut described = describe(spec, plan.format == Format::Cog && several)?;
    if plan.form.variant == Variant::Classic {
        described.narrow();
    }
    Ok(described)
}

/// Adds a file beside the target, merged with the writer's own metadata if it is `.aux.xml`.
pub(crate) fn add_sidecar(
    store: &mut Store,
    described: &mut Described,
    suffix: &str,
    bytes: Vec<u8>,
) -> Result<()> {
    if !store.takes_sidecars() {
        return Err(refused(format!("there is no place beside it for `{suffix}`")));
    }
    if suffix == AUX_XML
        && let Some(own) = &mut described.aux_xml
    {
        *own = merged(own, &bytes).map_err(refused)?;
        return Ok(());
    }
    store.sidecar(suffix, bytes, &mut Vec::new())
}

/// Returns the directories of the stored levels, each with that of its mask.
fn stored_directories(
    (plan, spec): (&WritePlan, &RasterSpec),
    described: &Described,
) -> Vec<(NewDirectory, Option<NewDirectory>)> {
    let stored = plan.levels.iter().enumerate().filter(|(_, level)| level.stored);
    let of = |at| directories_of(plan, spec, at, described.nodata.as_ref(), &described.fields);
    stored.filter_map(|(at, _)| of(at)).collect()
}

/// Lays out a file of which all blocks have arrived. Only the commit is left.
pub(crate) fn complete(
    (plan, spec): (&WritePlan, &RasterSpec),
    mut described: Described,
    store: &mut Store,
    (blocks, sparse): (u64, u64),
) -> Result<WriteReport> {
    let directories = stored_directories((plan, spec), &described);
    if matches!(plan.full, FullImage::Elsewhere(_)) {
        // The raster is described with its full image.
        (described.aux_xml, described.warnings) = (None, Vec::new());
    }
    let stored = store.finish(directories)?;
    let mut warnings = described.warnings;
    if let Some(xml) = described.aux_xml {
        store.sidecar(AUX_XML, xml.into_bytes(), &mut warnings)?;
    }
    Ok(WriteReport {
        file_len: stored.file_len,
        spooled: stored.spooled,
        blocks,
        sparse,
        levels: plan.count(),
        warnings,
        faults: Vec::new(),
    })
}
