//! An open file or mosaic, and its levels in a viewer: those of the file, and halvings of the smallest one.
//!
//! ```text
//! Stored     a level of the file
//! OnDemand   up to 8 times smaller than the smallest stored level: made per tile, from its pixels
//! Reduced    smaller still: made by one pass over the file, and kept in memory (`reduced`)
//! ```

use crate::answer::Refusal;
use crate::reading::Of;
use crate::reduced::Reduced;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use strile::crs::{Area, Crs, TransformOptions, Transformer};
use strile::file::Page;
use strile::number::is_complex;
use strile::picture::palette_of;
use strile::read::MaskSource;
use strile::tiff::gdal::NoData;
use strile::tiff::{Image, Photometric};
use strile::vrt::VrtOptions;
use strile::{DataType, Input, Processor, Window};

/// A viewer needs no levels below this size.
pub(crate) const SMALLEST: u32 = 512;
/// Halvings of the smallest stored level that are made per tile.
const ON_DEMAND: u32 = 3;
/// Maximum size of the kept result of a pass over a file.
const MOST_REDUCED: u64 = 256 << 20;

/// Source of a level's pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// This level of the file.
    Stored(usize),
    /// The smallest stored level.
    OnDemand,
    /// This level of the levels in memory.
    Reduced(usize),
}

/// One resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Width and height of its blocks, or of its tiles if the file has no such level.
    pub(crate) block: (u32, u32),
    pub(crate) place: Place,
}

impl Level {
    pub(crate) fn window(&self) -> Window {
        Window::full(self.width, self.height)
    }
}

/// An open file or mosaic.
pub(crate) struct Opened {
    pub(crate) input: Input,
    pub(crate) name: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) bands: u16,
    pub(crate) data_type: DataType,
    /// Levels, the largest first.
    pub(crate) levels: Vec<Level>,
    pub(crate) palette: Option<Vec<[u8; 4]>>,
    pub(crate) reduced: Reduced,
    /// Encoded bytes that were decoded.
    pub(crate) bytes_read: Arc<AtomicU64>,
    /// Processor that decodes its blocks.
    pub(crate) decode_on: Processor,
    to_degrees: OnceLock<Option<Transformer>>,
    /// Transformation from coordinates of a web map to those of the file.
    pub(crate) from_web: OnceLock<Option<Transformer>>,
    /// Metres per pixel of the file on a web map.
    pub(crate) web_pixel: OnceLock<Option<f64>>,
    /// Ranges of bands for stretching pictures.
    pub(crate) ranges: Mutex<BTreeMap<u16, (f64, f64)>>,
}

impl Opened {
    /// Opens a path or URL.
    pub(crate) fn open(
        path: &Path,
        name: &str,
        options: &VrtOptions,
        decode_on: Processor,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Self, Refusal> {
        Self::new(Input::open_with(path, options)?, name, decode_on, bytes_read)
    }

    pub(crate) fn new(
        input: Input,
        name: &str,
        decode_on: Processor,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Self, Refusal> {
        let unable = |problem: &str| Refusal::unable(format!("{name}: {problem}"));
        let (width, height, bands, data_type) = match &input {
            Input::Tiff(_) => {
                let image = full(&input).ok_or_else(|| unable("has no image"))?;
                let data_type = image.sample.data_type();
                let data_type = data_type.ok_or_else(|| unable("has samples of a type that is not read"))?;
                (image.width, image.height, image.samples, data_type)
            }
            Input::Vrt(vrt) => (vrt.width(), vrt.height(), vrt.bands(), vrt.data_type()),
        };
        let palette = palette_of(&input, &strile::read::Place::default())?;
        let mut levels = stored(&input, (width, height));
        made(&mut levels, u64::from(bands) * data_type.size() as u64);
        let name = name.to_owned();
        let reduced = Reduced::default();
        Ok(Self {
            input,
            name,
            width,
            height,
            bands,
            data_type,
            levels,
            palette,
            reduced,
            bytes_read,
            decode_on,
            to_degrees: OnceLock::new(),
            from_web: OnceLock::new(),
            web_pixel: OnceLock::new(),
            ranges: Mutex::default(),
        })
    }

    pub(crate) fn level(&self, number: usize) -> Result<Level, Refusal> {
        let there = self.levels.len();
        let found = self.levels.get(number).copied();
        found
            .ok_or_else(|| Refusal::bad(format!("there is no level {number}: the file has {there} (from 0)")))
    }

    /// Returns the smallest level of the file itself, with its number in the file.
    pub(crate) fn smallest_stored(&self) -> (usize, Level) {
        let stored = self.levels.iter().rev().find_map(|level| match level.place {
            Place::Stored(number) => Some((number, *level)),
            _ => None,
        });
        let whole = Level { width: self.width, height: self.height, block: (1, 1), place: Place::Stored(0) };
        stored.unwrap_or((0, whole))
    }

    /// Returns the first level that is kept in memory.
    pub(crate) fn first_reduced(&self) -> Option<Level> {
        self.levels.iter().find(|level| level.place == Place::Reduced(0)).copied()
    }

    /// Returns a level of the file by its number in the file.
    pub(crate) fn of(&self, level: usize, size: (u32, u32)) -> Of<'_> {
        Of { input: &self.input, level, size, decode_on: self.decode_on }
    }

    /// Returns all bands.
    pub(crate) fn all_bands(&self) -> Vec<u16> {
        (1..=self.bands).collect()
    }

    /// Returns the source of validity of pixels.
    pub(crate) fn mask_source(&self) -> Result<MaskSource, Refusal> {
        mask_source(&self.input)
    }

    /// Returns the nodata value of a band, from 1.
    pub(crate) fn nodata(&self, band: u16) -> Option<NoData> {
        nodata(&self.input, band)
    }

    /// Returns whether averages of samples are meaningless: palette colours, categories, complex numbers.
    pub(crate) fn is_categorical(&self) -> bool {
        self.palette.is_some() || !self.input.metadata().categories.is_empty() || is_complex(self.data_type)
    }

    /// Returns the codec of the file, as `strile info` names it.
    pub(crate) fn codec(&self) -> Option<String> {
        full(&self.input).map(|image| image.compression.name().to_string())
    }

    /// Returns whether 0 is white.
    pub(crate) fn is_inverted(&self) -> bool {
        full(&self.input).is_some_and(|image| image.colour.photometric == Photometric::MinIsWhite)
    }

    /// Returns the transformation of the file's coordinates to longitude and latitude; `None` if its system is not
    /// known well enough.
    pub(crate) fn to_degrees(&self) -> Option<&Transformer> {
        let found = self.to_degrees.get_or_init(|| {
            let place = &self.input.metadata().georeference;
            let (crs, transform) = (place.crs.as_ref()?, place.transform?);
            let bounds = transform.bounds(0.0, 0.0, self.width.into(), self.height.into());
            let area = Area::of(crs, (bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y)).ok()?;
            let degrees = Crs::from_epsg(4326)?;
            Transformer::new(crs, &degrees, &TransformOptions::default().area(area)).ok()
        });
        found.as_ref()
    }

    /// Returns the level for pixels of `scale` pixels of the full image each: the smallest one that suffices, of the
    /// file or in memory.
    pub(crate) fn level_for(&self, scale: f64) -> usize {
        let suffices = |level: &Level| {
            let own = f64::from(self.width) / f64::from(level.width);
            own <= scale * (1.0 + 1e-6) && level.place != Place::OnDemand
        };
        self.levels.iter().rposition(suffices).unwrap_or(0)
    }

    /// Adds the codec to a decoding error, and hides the location of the file.
    pub(crate) fn blame(&self, error: impl Into<Refusal>) -> Refusal {
        let refusal: Refusal = error.into();
        let mut refusal = refusal.naming(self.input.name(), &self.name);
        if refusal.block.is_some() {
            refusal.codec = self.codec();
        }
        refusal
    }
}

/// Returns the full image of a TIFF.
pub(crate) fn full(input: &Input) -> Option<&Image> {
    input
        .tiff()
        .and_then(|dataset| dataset.pages().first())
        .and_then(Page::full)
        .map(|level| level.image.as_ref())
}

pub(crate) fn mask_source(input: &Input) -> Result<MaskSource, Refusal> {
    Ok(match input {
        Input::Tiff(dataset) => dataset.mask_source(&strile::read::Place::default())?,
        Input::Vrt(vrt) => vrt.mask_source(),
    })
}

pub(crate) fn nodata(input: &Input, band: u16) -> Option<NoData> {
    match input {
        Input::Tiff(dataset) => dataset.metadata().nodata,
        Input::Vrt(vrt) => vrt.nodata(band),
    }
}

/// Returns the levels of the file: overviews that are smaller than the previous one.
fn stored(input: &Input, (width, height): (u32, u32)) -> Vec<Level> {
    let Input::Tiff(dataset) = input else {
        return vec![Level { width, height, block: (256, 256), place: Place::Stored(0) }];
    };
    let all = dataset.pages().first().map(|page| page.levels.as_slice()).unwrap_or_default();
    let mut found: Vec<Level> = all
        .iter()
        .enumerate()
        .map(|(number, level)| {
            let grid = level.image.grid;
            Level {
                width: level.image.width,
                height: level.image.height,
                block: (grid.block_width, grid.block_height),
                place: Place::Stored(number),
            }
        })
        .collect();
    // Overviews in file order need not be in order of size.
    found.sort_by_key(|level| std::cmp::Reverse(u64::from(level.width) * u64::from(level.height)));
    let mut kept: Vec<Level> = Vec::new();
    for level in found {
        let is_smaller = |last: &Level| level.width < last.width || level.height < last.height;
        if kept.last().is_none_or(is_smaller) {
            kept.push(level);
        }
    }
    kept
}

/// Adds halvings until both sides are small; `pixel` is the size of a pixel in bytes.
fn made(levels: &mut Vec<Level>, pixel: u64) {
    let (mut halvings, mut reduced) = (0_u32, None);
    while let Some(last) = levels.last().filter(|last| last.width.max(last.height) > SMALLEST).copied() {
        let (width, height) = (last.width.div_ceil(2), last.height.div_ceil(2));
        halvings += 1;
        let bytes = (u64::from(width) * u64::from(height)).saturating_mul(pixel);
        let place = match reduced {
            Some(number) => Place::Reduced(number),
            None if halvings > ON_DEMAND && bytes <= MOST_REDUCED => Place::Reduced(0),
            None => Place::OnDemand,
        };
        if let Place::Reduced(number) = place {
            reduced = Some(number + 1);
        }
        levels.push(Level { width, height, block: (256, 256), place });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_on_until_they_are_small_and_large_ones_are_not_kept() {
        let full = |width, height| vec![Level { width, height, block: (256, 256), place: Place::Stored(0) }];
        let mut levels = full(512, 300);
        made(&mut levels, 1);
        assert_eq!(levels.len(), 1);
        let mut levels = full(100_001, 50_000);
        made(&mut levels, 2);
        let places: Vec<Place> = levels.iter().map(|level| level.place).collect();
        use Place::{OnDemand, Reduced, Stored};
        assert_eq!(
            places,
            [
                Stored(0),
                OnDemand,
                OnDemand,
                OnDemand,
                Reduced(0),
                Reduced(1),
                Reduced(2),
                Reduced(3),
                Reduced(4)
            ]
        );
        assert_eq!((levels[1].width, levels[8].width, levels[8].height), (50_001, 391, 196));
        // Even a tiny file can state these sizes.
        let mut levels = full(u32::MAX, u32::MAX);
        made(&mut levels, 65_535 * 16);
        assert_eq!(levels.len(), 24);
        assert!(levels.iter().filter(|level| matches!(level.place, Reduced(_))).count() < 20);
    }
}
