//! The raster to write: its shape, type and meaning.

use crate::Window;
use crate::file::metadata::Metadata;
use crate::options::{optional, setters};
use strile_tiff::{DataType, ExtraSample, FieldValue, Photometric, Tag};

/// A raster to be written: its shape, the meaning of its samples and its metadata.
///
/// ```
/// use strile::tiff::Photometric;
/// use strile::{DataType, RasterSpec};
///
/// let spec = RasterSpec::new(512, 512, 3, DataType::U16).photometric(Photometric::Rgb).mask(true);
/// assert_eq!((spec.bands, spec.mask), (3, true));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RasterSpec {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bands.
    pub bands: u16,
    /// Type of a sample.
    pub data_type: DataType,
    /// Whether pieces have a mask.
    pub mask: bool,
    /// Meaning of the samples. `None` is RGB for three or four bands of `uint8` (the fourth is alpha), else grey.
    pub photometric: Option<Photometric>,
    /// Meaning of the samples beyond the colours. `None` is unspecified, except for the alpha above.
    pub extra_samples: Option<Vec<ExtraSample>>,
    /// Colours of a palette, by index.
    pub colour_map: Option<Vec<[u16; 3]>>,
    /// Georeferencing, nodata, names, scales, items.
    pub metadata: Metadata,
    /// Further tags, written unchanged.
    pub extra_fields: Vec<(Tag, FieldValue)>,
}

impl RasterSpec {
    /// Returns the description of a raster of this shape, without georeferencing.
    pub fn new(width: u32, height: u32, bands: u16, data_type: DataType) -> Self {
        Self {
            width,
            height,
            bands,
            data_type,
            mask: false,
            photometric: None,
            extra_samples: None,
            colour_map: None,
            metadata: Metadata::default(),
            extra_fields: Vec::new(),
        }
    }

    setters! {
        /// Sets whether pieces have a mask.
        mask: bool,
        /// Sets georeferencing, nodata, names, scales and items.
        metadata: Metadata,
        /// Sets further tags, which are written unchanged.
        extra_fields: Vec<(Tag, FieldValue)>,
    }

    optional! {
        /// Sets the meaning of the samples.
        photometric: Photometric,
        /// Sets the meaning of the samples beyond the colours.
        extra_samples: Vec<ExtraSample>,
        /// Sets the colours of a palette, by index.
        colour_map: Vec<[u16; 3]>,
    }

    /// Returns the part of the raster inside a window: everything but its size and its position is the same.
    pub fn part(&self, window: &Window) -> Self {
        let mut part = Self { width: window.width, height: window.height, ..self.clone() };
        let (column, row) = (f64::from(window.column), f64::from(window.row));
        let georeference = &mut part.metadata.georeference;
        georeference.transform = georeference.transform.map(|transform| transform.window(column, row));
        for gcp in &mut georeference.gcps {
            (gcp.column, gcp.row) = (gcp.column - column, gcp.row - row);
        }
        part
    }

    /// Returns the meaning of the samples and of those beyond the colours, with defaults applied.
    pub(crate) fn colours(&self) -> (Photometric, Vec<ExtraSample>) {
        let picture = self.data_type == DataType::U8 && matches!(self.bands, 3 | 4);
        let photometric = self.photometric.unwrap_or(match (&self.colour_map, picture) {
            (Some(_), _) => Photometric::Palette,
            (None, true) => Photometric::Rgb,
            (None, false) => Photometric::MinIsBlack,
        });
        let count = usize::from(self.bands.saturating_sub(photometric.colour_samples()));
        let mut extra = self.extra_samples.clone().unwrap_or_else(|| {
            let alpha = self.photometric.is_none() && picture && self.bands == 4;
            if alpha { vec![ExtraSample::UnassociatedAlpha] } else { Vec::new() }
        });
        extra.resize(count, ExtraSample::Unspecified);
        (photometric, extra)
    }
}
