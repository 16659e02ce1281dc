//! Adds overviews to an existing file, in it or beside it in `.ovr`; replaces or removes them.
//!
//! Appending changes one pointer of the file at the end, after everything new is safe on disk. Until then the file
//! reads as before, even if the process stops. Replaced overviews stay in the file as unused bytes. In a
//! cloud-optimized file, the promise of its layout is revoked first, as in GDAL, because its directories no longer
//! precede its data.

mod append;
mod chain;

use crate::convert::{
    ConvertOptions, Cut, Layers, at, cut, each_piece, piece_bytes, read_for, spec_of, stored_like,
};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::pages::{Level, Page};
use crate::options::{ReadOptions, optional, setters};
use crate::pieces::PieceLimits;
use crate::sink::FileSink;
use crate::window::Window;
use crate::write::overview_sizes;
use crate::write::{
    BigTiff, BlockChoice, FullImage, Overviews, RasterSpec, WriteOptions, WriteReport, Writer,
};
use append::AppendSink;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use strile_engine::{Context, Location, Resampling};
use strile_tiff::{ByteOrder, Compression, Image, LercWrapper, Origin, Variant};

/// Says which overviews to add, and how to compute and store them.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct OverviewOptions {
    /// The number of overviews, each half of the one above. `None` adds them until the smallest fits into one block.
    pub count: Option<u32>,
    /// Reduction factors relative to the image, instead of `count`: powers of two from 2 on, in any order.
    pub factors: Option<Vec<u32>>,
    /// Resampling method. `None` is the average, or the nearest pixel for palettes and named categories.
    pub resampling: Option<Resampling>,
    /// Codec of the overviews. `None` is the codec of the image, or Deflate if strile does not write that codec.
    pub compression: Option<Compression>,
    /// Whether to write them beside the file (`.ovr`), not in it.
    pub external: bool,
    /// Whether to replace existing overviews. Those in the file become unused bytes; a `.ovr` is rewritten.
    pub rebuild: bool,
    /// Largest number of samples of the image, as in `ReadOptions::max_pixels`.
    pub max_pixels: Option<u64>,
}

impl OverviewOptions {
    /// Returns the defaults: overviews in the file, until the smallest fits into one block.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Writes overviews beside the file (`.ovr`).
        external: bool,
        /// Replaces existing overviews.
        rebuild: bool,
    }

    optional! {
        /// Sets the number of overviews, each half of the one above.
        count: u32,
        /// Sets the reduction factors relative to the image, instead of `count`: powers of two from 2 on, in any order.
        factors: Vec<u32>,
        /// Sets the resampling method.
        resampling: Resampling,
        /// Sets the codec of the overviews.
        compression: Compression,
        /// Limits the number of samples of the image.
        max_pixels: u64,
    }
}

/// The result of adding overviews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverviewOutcome {
    /// They were written.
    Written(WriteReport),
    /// The file already had this many, of exactly the requested sizes. Nothing was written.
    AlreadyThere(usize),
    /// The image fits into one block and no number of overviews was requested. Nothing was written.
    NotNeeded,
}

/// Adds overviews to the first page of the file at `path`.
///
/// ```no_run
/// use strile::Context;
/// use strile::overview::{OverviewOptions, add_overviews};
///
/// let options = OverviewOptions::new().factors(vec![2, 4, 8]).rebuild(true);
/// add_overviews("dem.tif".as_ref(), &options, &Context::default())?;
/// # Ok::<(), strile::Error>(())
/// ```
pub fn add_overviews(path: &Path, options: &OverviewOptions, context: &Context) -> Result<OverviewOutcome> {
    let input = Dataset::open(path)?;
    // Appending changes the file while it is read, but its pixels stay in place.
    input.expect_changes();
    let page = first_page(&input)?;
    let full = page.full().ok_or_else(|| input.refuse("has no image".into()))?;
    let mut read = ReadOptions::new();
    read.execution.max_pixels = options.max_pixels;
    input.pieces(&read, &PieceLimits::default(), context)?;
    let spec = spec_of(&input, &read.place, &ConvertOptions::default(), &mut Vec::new())?;
    let write = as_the_image(&full.image, options, context).map_err(|problem| input.refuse(problem))?;
    let sizes = overview_sizes(&spec, &write).map_err(|problem| input.refuse(problem))?;
    let there = page.levels.get(1..).unwrap_or_default();
    if !there.is_empty() {
        match check_existing(there, &sizes, &spec, options) {
            Ok(true) => return Ok(OverviewOutcome::AlreadyThere(there.len())),
            Ok(false) => {}
            Err(problem) => return Err(input.refuse(problem)),
        }
    }
    if sizes.is_empty() && there.is_empty() {
        return Ok(OverviewOutcome::NotNeeded);
    }
    if sizes.is_empty() {
        let problem = "fits into one block and needs no overviews, and has some; remove them, or name the levels to make";
        return Err(input.refuse(problem.into()));
    }
    let gone = if options.external { BTreeSet::new() } else { internal(&input, page)? };
    let cut = cut(&input, &read.place, &spec, piece_bytes(&spec, &write, false))?;
    let begin = |compression: Compression, external: bool| -> Result<Writer> {
        let ycbcr = write.ycbcr.filter(|_| compression == Compression::Jpeg);
        let lerc = if compression == Compression::Lerc { write.lerc } else { LercWrapper::None };
        let write = WriteOptions { compression, ycbcr, lerc, ..write.clone() };
        match external {
            true => {
                let sink = FileSink::create(&beside(path), options.rebuild)?;
                let full = FullImage::Elsewhere(None);
                Writer::create_from(Box::new(sink), spec.clone(), &write, full, context)
            }
            false => {
                let (sink, appended) = AppendSink::open(path, &input, &gone)?;
                let full = FullImage::Elsewhere(Some(appended));
                let write = in_the_form_of(&input, &write);
                Writer::create_from(Box::new(sink), spec.clone(), &write, full, context)
            }
        }
    };
    let writer = match (begin(write.compression, options.external), options.compression) {
        (Err(Error::Request { .. }), None) => begin(Compression::Deflate, options.external)?,
        (begun, _) => begun?,
    };
    run(&input, &read, cut, writer, context).map(OverviewOutcome::Written)
}

/// Removes the overviews of the first page: those in the file, or with `external` the `.ovr` beside it. Returns their
/// number.
///
/// Overviews in the file become unused bytes. One pointer is changed at the end, as in [`add_overviews`].
pub fn remove_overviews(path: &Path, external: bool) -> Result<usize> {
    let input = Dataset::open(path)?;
    let page = first_page(&input)?;
    let there = page.levels.iter().skip(1).filter(|level| (level.file > 0) == external).count();
    if external {
        let beside = beside(path);
        if beside.exists() {
            std::fs::remove_file(&beside).map_err(|error| Error::io(&beside, error))?;
        }
        return Ok(there);
    }
    if there > 0 {
        AppendSink::only_remove(path, &input, &internal(&input, page)?)?;
    }
    Ok(there)
}

fn first_page(input: &Dataset) -> Result<&Page> {
    input.pages().first().ok_or_else(|| input.refuse("has no image".into()))
}

/// Returns whether the existing overviews are the requested ones, or an error if nothing can be done about them.
fn check_existing(
    there: &[Level],
    sizes: &[(u32, u32)],
    spec: &RasterSpec,
    options: &OverviewOptions,
) -> std::result::Result<bool, String> {
    let count = match there.len() {
        1 => "1 overview".to_owned(),
        n => format!("{n} overviews"),
    };
    let inside = there.iter().any(|level| level.file == 0);
    let outside = there.iter().any(|level| level.file > 0);
    if inside && options.external {
        return Err(format!(
            "has {count} in the file itself, not beside it; remove them first, or drop `external`"
        ));
    }
    if outside && !options.external {
        return Err(format!("has {count} beside it, in a `.ovr` file; set `external`, or remove them first"));
    }
    if options.rebuild {
        return Ok(false);
    }
    let same_sizes =
        there.iter().map(|level| (level.image.width, level.image.height)).eq(sizes.iter().copied());
    let masks = !spec.mask || there.iter().all(|level| level.mask.is_some());
    let compression =
        options.compression.is_none_or(|asked| there.iter().all(|level| level.image.compression == asked));
    match same_sizes && masks && compression {
        true => Ok(true),
        false => {
            Err(format!("has {count} already, other than those asked for; set `rebuild` to replace them"))
        }
    }
}

/// Returns the directories of the first page's overviews and of their masks.
fn internal(input: &Dataset, page: &Page) -> Result<BTreeSet<usize>> {
    let mut gone = BTreeSet::new();
    for level in page.levels.iter().skip(1).filter(|level| level.file == 0) {
        gone.insert(level.image.directory);
        if let Some((0, mask)) = &level.mask {
            gone.insert(mask.directory);
        }
    }
    let directories = input.tiff().map(|tiff| tiff.directories.as_slice()).unwrap_or_default();
    let mut named = directories.iter().enumerate().filter(|(_, d)| d.origin == Origin::Sub { parent: 0 });
    let any_gone = named.clone().any(|(index, _)| gone.contains(&index));
    if any_gone && named.any(|(index, _)| !gone.contains(&index)) {
        let problem = "names directories that are not overviews beside those that are (SubIFDs); write a new file with `convert`";
        return Err(input.refuse(problem.into()));
    }
    Ok(gone)
}

fn run(
    input: &Dataset,
    read: &ReadOptions,
    cut: Cut,
    mut writer: Writer,
    context: &Context,
) -> Result<WriteReport> {
    let quiet = Context { progress: None, ..context.clone() };
    let place = writer.location().unwrap_or(Location::Host);
    let source = |options: &ReadOptions| read_for(input, place, options, &quiet);
    let masked = writer.spec().is_some_and(|spec| spec.mask);
    let layers = |window| Layers::read(&source, read, window, masked);
    let take = |window: Window, layers: Layers| {
        layers.write(&mut writer, at(&cut.window, &window, (0, 0))).map(drop)
    };
    each_piece(cut, layers, take, context)?;
    writer.finish()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".ovr");
    PathBuf::from(name)
}

/// Returns options that store overviews like the image. Overviews of an image in strips are tiled.
fn as_the_image(
    image: &Image,
    options: &OverviewOptions,
    context: &Context,
) -> std::result::Result<WriteOptions, String> {
    let overviews = match (&options.factors, options.count) {
        (None, None) => Overviews::UntilOneBlock,
        (None, Some(count)) => Overviews::Count(count),
        (Some(_), Some(_)) => return Err("`count` and `factors` are both given; choose one".into()),
        (Some(factors), None) => {
            let sorted: Vec<u32> = factors.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            if sorted.is_empty() {
                return Err("no overview is asked for".into());
            }
            Overviews::factors(&sorted).ok_or_else(|| {
                let wrong = sorted.iter().find(|factor| **factor < 2 || !factor.is_power_of_two());
                format!("overview factor {}: expected powers of two from 2 on", wrong.copied().unwrap_or(0))
            })?
        }
    };
    let room = context.budget.limit() / 8;
    let like = stored_like(image, options.compression.unwrap_or(image.compression));
    Ok(WriteOptions {
        blocks: match like.blocks {
            BlockChoice::Strips { .. } => BlockChoice::Auto,
            tiles => tiles,
        },
        overviews,
        resampling: options.resampling,
        buffer: Some(room.min(64 << 20)),
        ..like
    })
}

fn in_the_form_of(input: &Dataset, write: &WriteOptions) -> WriteOptions {
    let header = input.tiff().map(|tiff| tiff.header);
    WriteOptions {
        byte_order: header.map_or(ByteOrder::Little, |header| header.byte_order),
        big_tiff: match header.map(|header| header.variant) {
            Some(Variant::Big) => BigTiff::Yes,
            _ => BigTiff::No,
        },
        ..write.clone()
    }
}
