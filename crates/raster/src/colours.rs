//! Colour interpretation of bands, as in GDAL, and the colours of the values of a band.
//!
//! Metadata in the file or beside it takes precedence over the photometric interpretation, as in GDAL.

use crate::convert::colours_as_read;
use crate::error::Result;
use crate::file::input::Input;
use crate::options::Place;
use crate::vrt::table_entries;
use strile_tiff::gdal::NoData;
use strile_tiff::{ExtraSample, Image, Photometric};

impl Input {
    /// Returns GDAL's colour interpretation of each band ("Red", "Gray", "Palette", "Alpha", …); `None` for a band
    /// without one.
    pub fn band_colours(&self) -> Result<Vec<Option<String>>> {
        let stated = self.metadata().bands.iter().map(|band| band.colour.clone());
        Ok(match self {
            Self::Tiff(dataset) => {
                let own = colours_of(&dataset.target(&Place::default())?.image);
                let stated = stated.chain(std::iter::repeat(None));
                own.into_iter().zip(stated).map(|(own, stated)| stated.or(own)).collect()
            }
            Self::Vrt(_) => stated.collect(),
        })
    }

    /// Returns red, green, blue and alpha (0 to 255) of each value of a band, counted from 1. Empty for a band without
    /// a colour table.
    pub fn colour_table(&self, band: u16) -> Result<Vec<[u16; 4]>> {
        let dataset = match self {
            Self::Vrt(vrt) => return Ok(vrt.colour_table(band).to_vec()),
            Self::Tiff(dataset) => dataset,
        };
        let at = usize::from(band).checked_sub(1);
        let beside = at.and_then(|at| self.metadata().bands.get(at)).and_then(|band| {
            let table = band.sidecar.iter().find(|element| element.name == "ColorTable")?;
            Some(table_entries(table).collect::<Vec<_>>()).filter(|entries| !entries.is_empty())
        });
        if let Some(entries) = beside {
            return Ok(entries);
        }
        let image = dataset.target(&Place::default())?.image;
        let map = image.colour.colour_map.as_ref().filter(|_| band == 1);
        let mut table = map.map_or_else(Vec::new, |map| eight_bits(map).0);
        // GDAL shows the value of missing pixels as transparent.
        let missing = match self.metadata().nodata {
            Some(NoData::Integer(value)) => usize::try_from(value).ok(),
            _ => None,
        };
        if let Some([.., alpha]) = missing.and_then(|value| table.get_mut(value)) {
            *alpha = 0;
        }
        Ok(table)
    }
}

/// Returns GDAL's colour interpretation of the bands of an image, by its tags alone.
pub(crate) fn colours_of(image: &Image) -> Vec<Option<String>> {
    let photometric = match (&image.colour.colour_map, image.samples) {
        (Some(_), 1) => Photometric::Palette,
        _ => colours_as_read(image),
    };
    let names: &[&str] = match photometric {
        Photometric::Rgb => &["Red", "Green", "Blue"],
        Photometric::Palette => &["Palette"],
        Photometric::Separated => &["Cyan", "Magenta", "Yellow", "Black"],
        Photometric::MinIsBlack | Photometric::MinIsWhite => &["Gray"],
        _ => &[],
    };
    let colours = usize::from(photometric.colour_samples());
    let of = |at: usize| match names.get(at) {
        Some(name) => Some((*name).to_owned()),
        None => {
            let extra = at.checked_sub(colours).and_then(|at| image.colour.extra_samples.get(at));
            extra.filter(|extra| **extra != ExtraSample::Unspecified).map(|_| "Alpha".to_owned())
        }
    };
    (0..usize::from(image.samples)).map(of).collect()
}

/// Returns 16-bit colours as GDAL's 8-bit ones, and whether the conversion is lossless: writers expand 8 bits to 16 by
/// one of two factors, and some leave them at 8 bits.
pub(crate) fn eight_bits(map: &[[u16; 3]]) -> (Vec<[u16; 4]>, bool) {
    let all = |divisor: u16| map.iter().flatten().all(|v| v % divisor == 0);
    let divisor = if map.iter().flatten().all(|v| *v < 256) {
        1
    } else if all(257) {
        257
    } else {
        256
    };
    let exact = divisor != 256 || all(256);
    (
        map.iter().map(|&[red, green, blue]| [red / divisor, green / divisor, blue / divisor, 255]).collect(),
        exact,
    )
}
