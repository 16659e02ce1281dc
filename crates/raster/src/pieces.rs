//! Reads results in pieces, one after the other, so that they need not fit into memory.
//!
//! The pieces end to end are exactly the bytes of the whole result. A piece consists of whole rows of blocks, so no
//! block is decoded twice within a band. If the result is band by band and the file is pixel-interleaved, each block is
//! decoded once per band; this is the price of bounded memory. The caller decides where pieces are written.

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::InputRef;
use crate::grid::plan_onto;
use crate::options::{Interleave, ReadOptions, setters};
use crate::pixels::Pixels;
use crate::read::{Size, WindowFault, check_result, is_turned, layout_of, rows_of_part};
use crate::window::Window;
use std::collections::BTreeMap;
use strile_engine::{BlockAddress, Context, EngineError, Fill, LocatedFault, Location};
use strile_tiff::{BlockGrid, DataType, Planar};

/// Sizes that bound a read in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PieceLimits {
    /// Bytes per piece, unless a single row of blocks is larger.
    pub piece: u64,
}

impl Default for PieceLimits {
    fn default() -> Self {
        Self { piece: 256 << 20 }
    }
}

impl PieceLimits {
    /// Returns the defaults: pieces of 256 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Limits the bytes per piece, unless a single row of blocks is larger.
        piece: u64,
    }
}

/// The shape of a result, and how it is cut into pieces.
#[derive(Debug, Clone)]
pub struct Pieces {
    /// Type of a sample.
    pub data_type: DataType,
    /// Bands of the whole result.
    pub bands: u32,
    /// Rows of the whole result.
    pub rows: u32,
    /// Columns of the whole result.
    pub columns: u32,
    /// Total number of blocks (or parts of uncompressed ones) to decode; 0 for a read onto a grid, where it is not
    /// known in advance.
    pub blocks: u64,
    options: ReadOptions,
    window: Window,
    band_list: Vec<u16>,
    /// Whether a piece holds all bands of some rows. Otherwise it holds some rows of one band.
    all_bands: bool,
    /// Rows of the window per piece. The first piece ends at a row of blocks.
    rows_of_piece: u32,
    block_height: u32,
}

/// A result that is cut only by rows: that of a mosaic.
pub(crate) struct Whole {
    pub(crate) data_type: DataType,
    pub(crate) bands: Vec<u16>,
    pub(crate) window: Window,
    pub(crate) block_height: u32,
    pub(crate) blocks: u64,
}

impl Pieces {
    /// Returns the pieces of a result that is cut only by rows, whatever the size of the file.
    pub(crate) fn of_rows(
        whole: Whole,
        options: &ReadOptions,
        limits: &PieceLimits,
        context: &Context,
    ) -> Self {
        let Whole { data_type, bands: band_list, window, block_height, blocks } = whole;
        let room = limits.piece.min(context.budget.limit() / 4).max(1);
        let bands = u32::try_from(band_list.len()).unwrap_or(u32::MAX);
        let row = (data_type.size() as u64).saturating_mul(u64::from(window.width));
        let all = row.saturating_mul(u64::from(window.height)).saturating_mul(u64::from(bands));
        let all_bands = all <= room || options.layout.interleave == Interleave::BandLast;
        let piece_row = if all_bands { row.saturating_mul(u64::from(bands)) } else { row };
        let block_height = block_height.max(1);
        let rows_of_piece = if piece_row.saturating_mul(u64::from(window.height)) <= room {
            u32::MAX
        } else {
            let block_rows = (room / piece_row.max(1) / u64::from(block_height)).max(1);
            u32::try_from(block_rows).unwrap_or(u32::MAX).saturating_mul(block_height)
        };
        let (rows, columns) = (window.height, window.width);
        let options = options.clone();
        Self {
            data_type,
            bands,
            rows,
            columns,
            blocks,
            options,
            window,
            band_list,
            all_bands,
            rows_of_piece,
            block_height,
        }
    }

    /// Returns the pieces of a read onto a grid: `height` rows each.
    pub(crate) fn onto(
        input: InputRef<'_>,
        options: &ReadOptions,
        (limits, height): (&PieceLimits, u32),
        context: &Context,
    ) -> Result<Self> {
        let Some(onto) = &options.place.onto else { return Err(input.refuse("no grid is given".into())) };
        let window = options.place.window.unwrap_or(Window::full(onto.grid.width(), onto.grid.height()));
        // Every piece has the same type and bands.
        let corner = options.clone().window(Window { width: 1, height: 1, ..window });
        let probe = plan_onto(Location::Host, &[input], &corner, context)?;
        let count = u16::try_from(probe.output.bands).unwrap_or(u16::MAX);
        let bands = options.place.bands.clone().unwrap_or_else(|| (1..=count).collect());
        let samples =
            Size::new((1, window.height, window.width), 1).samples.saturating_mul(bands.len() as u64);
        let bytes = samples.saturating_mul(probe.output.data_type.size() as u64);
        let size = Size { samples, bytes };
        check_result((input.name(), "the file"), size, options.execution.max_pixels, || input.stored_len())?;
        let whole =
            Whole { data_type: probe.output.data_type, bands, window, block_height: height, blocks: 0 };
        Ok(Self::of_rows(whole, options, limits, context))
    }

    /// Returns the windows from top to bottom, cut at rows of blocks.
    fn windows(&self) -> impl Iterator<Item = Window> + '_ {
        let (end, step) = (self.window.row + self.window.height, self.rows_of_piece);
        // Cuts are at multiples of the step, counted from the block row in which the window begins.
        let first = self.window.row / self.block_height * self.block_height;
        std::iter::successors(Some(first), move |at| at.checked_add(step).filter(|&next| next < end)).map(
            move |at| {
                let (top, bottom) = (at.max(self.window.row), at.saturating_add(step).min(end));
                Window { row: top, height: bottom - top, ..self.window }
            },
        )
    }
}

impl Dataset {
    /// Decides how a result is cut into pieces, without touching a pixel.
    pub fn pieces(&self, options: &ReadOptions, limits: &PieceLimits, context: &Context) -> Result<Pieces> {
        if options.place.onto.is_some() {
            let height = self
                .pages()
                .first()
                .and_then(|page| page.full())
                .map_or(1, |level| level.image.grid.block_height);
            return Pieces::onto(InputRef::Tiff(self), options, (limits, height), context);
        }
        let target = self.footprint(&options.place)?;
        let (image, window) = (target.image, target.window);
        let derived = self.is_derived_mask(&options.place)?;
        let bands = if derived { vec![1] } else { target.bands };
        let unsupported = || Error::Unsupported {
            file: self.name().to_owned(),
            reason: format!("{} samples", image.sample),
        };
        let data_type = match derived {
            true => DataType::U8,
            false => match self.unpacking(&image, &bands, &options.place, &options.meaning)? {
                Some(unpacking) => unpacking.data_type,
                None => image.sample.data_type().ok_or_else(unsupported)?,
            },
        };
        let row = (data_type.size() as u64).saturating_mul(u64::from(window.width));
        let band = row.saturating_mul(u64::from(window.height));
        let whole = band.saturating_mul(bands.len() as u64);
        let samples =
            Size::new((1, window.height, window.width), 1).samples.saturating_mul(bands.len() as u64);
        self.check_result(Size { samples, bytes: whole }, &options.execution)?;
        let turned = is_turned(&image, options.layout);
        let room = limits.piece.min(context.budget.limit() / 2).max(1);
        let all_bands = whole <= room || options.layout.interleave == Interleave::BandLast;
        let piece_row = if all_bands { row.saturating_mul(bands.len() as u64) } else { row };
        // Rows of an uncompressed block can be read separately, so pieces may end inside it.
        let part = layout_of(&image, Fill::default()).as_ref().and_then(rows_of_part);
        let block_height = part.unwrap_or(image.grid.block_height);
        let rows_of_piece = if turned || piece_row.saturating_mul(u64::from(window.height)) <= room {
            // Ends after the window: one piece, whatever row of its block the window begins in.
            u32::MAX
        } else {
            let block_rows = (room / piece_row.max(1) / u64::from(block_height)).max(1);
            u32::try_from(block_rows).unwrap_or(u32::MAX).saturating_mul(block_height)
        };
        let passes = match (image.planar, all_bands) {
            (Planar::Chunky, true) => 1,
            _ => bands.len() as u64,
        };
        let (rows, columns) = match turned && image.orientation >= 5 {
            true => (window.width, window.height),
            false => (window.height, window.width),
        };
        Ok(Pieces {
            data_type,
            bands: u32::try_from(bands.len()).unwrap_or(u32::MAX),
            rows,
            columns,
            blocks: blocks_of(&image.grid, &window, block_height).saturating_mul(passes),
            options: options.clone(),
            window,
            band_list: bands,
            all_bands,
            rows_of_piece,
            block_height,
        })
    }

    /// Reads the pieces and passes them, in order, to `give`. Returns the faults of all pieces, each block once.
    pub fn read_pieces<E: From<Error>>(
        &self,
        pieces: &Pieces,
        context: &Context,
        give: impl FnMut(Pixels) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<LocatedFault>, E> {
        read_each(pieces, |options| self.read(options, context), give)
    }
}

/// Reads each piece with `read`, in order; see `Dataset::read_pieces`.
pub(crate) fn read_each<E: From<Error>>(
    pieces: &Pieces,
    read: impl Fn(&ReadOptions) -> Result<Pixels>,
    mut give: impl FnMut(Pixels) -> std::result::Result<(), E>,
) -> std::result::Result<Vec<LocatedFault>, E> {
    let mut faults: BTreeMap<(BlockAddress, String), LocatedFault> = BTreeMap::new();
    let groups: Vec<Vec<u16>> = match pieces.all_bands {
        true => vec![pieces.band_list.clone()],
        false => pieces.band_list.iter().map(|&band| vec![band]).collect(),
    };
    for bands in groups {
        for window in pieces.windows() {
            let mut options = pieces.options.clone().window(window).bands(bands.clone());
            if options.place.onto.is_none() {
                // Every block is read only once.
                options.execution.cache = Cache::Off;
            }
            let mut read = read(&options)?;
            if read.data_type != pieces.data_type {
                // If only one band is scaled, bands that are read separately differ in type.
                return Err(Error::Engine(EngineError::Mismatch {
                    what: "piece of the result",
                    found: format!(
                        "{} samples of bands {bands:?}; read these bands separately",
                        read.data_type
                    ),
                    expected: format!("{} samples", pieces.data_type),
                })
                .into());
            }
            for WindowFault { file, fault, .. } in read.faults.drain(..) {
                faults.entry((fault.address, file)).or_insert(fault);
            }
            give(read)?;
        }
    }
    Ok(faults.into_values().collect())
}

/// Returns the blocks of a window, or about as many parts if blocks are cut into parts of `height` rows.
fn blocks_of(grid: &BlockGrid, window: &Window, height: u32) -> u64 {
    let len = |range: std::ops::Range<u32>| u64::from(range.end - range.start);
    let down = len(window.block_rows(grid)).max(u64::from(window.height.div_ceil(height)));
    down * len(window.block_columns(grid))
}
