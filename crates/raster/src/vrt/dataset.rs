//! A mosaic as a dataset: checks of requests, windows, bands, pieces. `doors` reads.

use super::Vrt;
use super::call::Work;
use crate::error::{Error, Result};
use crate::file::dataset::no_band;
use crate::file::footprint::{transform_onto, window_of, window_on};
use crate::file::input::InputRef;
use crate::options::{Execution, Layer, Meaning, Place, ReadOptions};
use crate::pieces::{PieceLimits, Pieces, Whole, read_each};
use crate::pixels::Pixels;
use crate::read::{MaskSource, Size};
use crate::window::Window;
use strile_engine::{Context, LocatedFault};
use strile_tiff::DataType;
use strile_tiff::geo::GeoTransform;

/// Height of pieces if the first source does not say how high the rows of tiles are.
const PIECE_ROWS: u32 = 256;

impl Vrt {
    /// Returns the checked window and bands of a request.
    pub(crate) fn target(&self, place: &Place) -> Result<(Window, Vec<u16>)> {
        if place.onto.is_some() {
            return Err(self.refuse(
                "a read onto a grid is not cut into pieces of its file; read windows of the grid".into(),
            ));
        }
        if place.page > 0 {
            return Err(self.refuse(format!("there is no page {}, a VRT has 1 (from 0)", place.page)));
        }
        if place.level > 0 {
            let level = place.level;
            return Err(
                self.refuse(format!("there is no level {level}, the overviews of a VRT are not read"))
            );
        }
        if place.reduce > 0 {
            return Err(self.refuse("lower resolutions of a VRT's files are not read".into()));
        }
        let window = place.window.unwrap_or(Window::full(self.width, self.height));
        if !window.is_inside(self.width, self.height) {
            return Err(self.refuse(format!(
                "window {window} is not inside the image of {} × {} pixels (a window is column,row,width,height)",
                self.width, self.height
            )));
        }
        let all = self.bands();
        let bands = place.bands.clone().unwrap_or_else(|| (1..=all).collect());
        if bands.is_empty() {
            return Err(self.refuse("no band is asked for".into()));
        }
        if let Some(band) = bands.iter().find(|&&band| band == 0 || band > all) {
            return Err(self.refuse(no_band(*band, all)));
        }
        Ok((window, bands))
    }

    /// Returns the source of validity of pixels.
    pub fn mask_source(&self) -> MaskSource {
        match (self.has_mask(), self.alpha()) {
            (true, _) => MaskSource::Image,
            (_, Some(band)) => MaskSource::Alpha(band),
            _ if self.bands.iter().any(|band| band.nodata.is_some()) => MaskSource::NoData,
            _ => MaskSource::AllValid,
        }
    }

    /// Returns a counter for a read, or for all parts of a longer read.
    pub(crate) fn work(&self) -> Work {
        Work::new(self.options.max_work)
    }

    /// Fails for a window that is too large.
    pub(crate) fn check_window(
        &self,
        (columns, rows): (u32, u32),
        bands: &[u16],
        (meaning, execution): (&Meaning, &Execution),
    ) -> Result<()> {
        let window = Window::full(columns, rows);
        self.check_result(self.size_of((&Place::default(), meaning), window, bands)?, execution)
    }

    /// Returns the size of a result.
    pub(super) fn size_of(
        &self,
        (place, meaning): (&Place, &Meaning),
        window: Window,
        bands: &[u16],
    ) -> Result<Size> {
        let count = match place.layer {
            Layer::Pixels => u32::try_from(bands.len()).unwrap_or(u32::MAX),
            Layer::Mask => 1,
        };
        let data_type = self.type_of((place, meaning), bands)?;
        Ok(Size::new((count, window.height, window.width), data_type.size()))
    }

    /// Returns the sample type of a result: floats if samples are masked or scaled.
    fn type_of(&self, (place, meaning): (&Place, &Meaning), bands: &[u16]) -> Result<DataType> {
        Ok(match place.layer {
            Layer::Pixels => self
                .conversions(bands, place, meaning)?
                .unpackings
                .first()
                .map_or(self.data_type(), |found| found.data_type),
            Layer::Mask => DataType::U8,
        })
    }

    /// Returns the transform of a request's own pixels.
    pub fn transform(&self, options: &ReadOptions) -> Result<Option<GeoTransform>> {
        match transform_onto(&options.place) {
            Some(transform) => Ok(Some(transform)),
            None => self.stored_transform(&options.place),
        }
    }

    /// Returns the transform of pixels of the mosaic.
    pub(crate) fn stored_transform(&self, place: &Place) -> Result<Option<GeoTransform>> {
        let (window, _) = self.target(place)?;
        let transform = self.metadata.georeference.transform;
        Ok(transform.map(|transform| transform.window(window.column.into(), window.row.into())))
    }

    /// Returns the window that covers the part of a box (west, south, east, north) in the image, or in the grid of a
    /// read onto one.
    pub fn window_of_box(&self, place: &Place, sides: [f64; 4]) -> Result<Window> {
        if let Some(onto) = &place.onto {
            return window_on(&onto.grid, sides).map_err(|problem| self.refuse(problem));
        }
        window_of(self.metadata.georeference.transform, (self.width, self.height), sides)
            .map_err(|problem| self.refuse(problem))
    }

    /// Decides how a result is cut into pieces, without touching a pixel.
    pub fn pieces(&self, options: &ReadOptions, limits: &PieceLimits, context: &Context) -> Result<Pieces> {
        if options.place.onto.is_some() {
            return Pieces::onto(InputRef::Vrt(self), options, (limits, PIECE_ROWS), context);
        }
        let (window, bands) = self.target(&options.place)?;
        self.check_result(
            self.size_of((&options.place, &options.meaning), window, &bands)?,
            &options.execution,
        )?;
        let data_type = self.type_of((&options.place, &options.meaning), &bands)?;
        let bands = match options.place.layer {
            Layer::Pixels => bands,
            Layer::Mask => vec![1],
        };
        // Rows of tiles are usually as high as the first.
        let first = self.bands.first().and_then(|band| band.sources.first()?.rectangles);
        let height = first.map_or(0.0, |rectangles| rectangles.down.target_size);
        let tile = window.height.clamp(1, 4096);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 4096")]
        let block_height = if (1.0..=f64::from(tile)).contains(&height) { height as u32 } else { PIECE_ROWS };
        let sources = self.bands.first().map_or(0, |band| band.sources.len()) as u64;
        let whole = Whole { data_type, bands, window, block_height, blocks: sources };
        Ok(Pieces::of_rows(whole, options, limits, context))
    }

    /// Reads the pieces and passes them, in order, to `give`. Returns the faults of the sources.
    pub fn read_pieces<E: From<Error>>(
        &self,
        pieces: &Pieces,
        context: &Context,
        give: impl FnMut(Pixels) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<LocatedFault>, E> {
        let work = self.work();
        let read = |options: &ReadOptions| match options.place.onto {
            Some(_) => self.read(options, context),
            None => self.read_part(options, &work, context),
        };
        read_each(pieces, read, give)
    }
}
