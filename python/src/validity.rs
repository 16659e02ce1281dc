//! What says which pixels of a band are valid: a nodata value, a mask image or alpha.

use strile::read::{MaskSource, Place};
use strile::tiff::gdal::NoData;
use strile::{Error, Input, Layer, Result};

/// What says which pixels of a band are valid.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    AllValid,
    /// The layer `mask`: a mask image or alpha.
    Layer,
    Value(NoData),
}

/// The rule of each band of a level. As in GDAL, alpha itself is all valid, the bands of a VRT have nodata values of their
/// own, and its mask band counts before these.
pub(crate) fn rules(input: &Input, page: usize, level: usize) -> Vec<Rule> {
    let by_alpha = |band: u16, alpha: u16| if band == alpha { Rule::AllValid } else { Rule::Layer };
    match input {
        Input::Tiff(file) => {
            let found = file.pages().get(page).and_then(|page| page.levels.first());
            let bands = 1..=found.map_or(0, |level| level.image.samples);
            match (file.metadata().nodata, beside_nodata(file, page, level)) {
                (Some(value), _) => bands.map(|_| Rule::Value(value)).collect(),
                (None, Some(MaskSource::Alpha(alpha))) => bands.map(|band| by_alpha(band, alpha)).collect(),
                (None, Some(MaskSource::Image)) => bands.map(|_| Rule::Layer).collect(),
                _ => bands.map(|_| Rule::AllValid).collect(),
            }
        }
        Input::Vrt(vrt) => {
            let source = vrt.mask_source();
            let rule = |band| match (source, vrt.nodata(band)) {
                (MaskSource::Image, _) => Rule::Layer,
                (_, Some(value)) => Rule::Value(value),
                (MaskSource::Alpha(alpha), None) => by_alpha(band, alpha),
                _ => Rule::AllValid,
            };
            (1..=vrt.bands()).map(rule).collect()
        }
    }
}

/// The mask image or the alpha that says which pixels of a level are valid, where there is no nodata value.
fn beside_nodata(dataset: &strile::Dataset, page: usize, level: usize) -> Option<MaskSource> {
    if dataset.metadata().nodata.is_some() {
        return None;
    }
    let source = |level| dataset.mask_source(&Place::new().page(page).level(level));
    // An overview may lack the mask that its image has. A level that is not there is refused by who reads it.
    let found = [level, 0].into_iter().filter_map(|level| source(level).ok());
    found.into_iter().find(|source| matches!(source, MaskSource::Image | MaskSource::Alpha(_)))
}

/// Refuses the mask of an overview that has none where its image has one: all of it would be valid.
pub(crate) fn refuse_lost(file: &strile::Dataset, place: &Place) -> Result<()> {
    let level = place.level;
    if level == 0 || place.layer != Layer::Mask {
        return Ok(());
    }
    let whole = place.clone().level(0);
    let [own, whole] = [place, &whole].map(|place| file.mask_source(place).ok());
    if own != Some(MaskSource::AllValid) || whole != Some(MaskSource::Image) {
        return Ok(());
    }
    let problem = format!(
        "its image has a mask and its level {level} has none, so that all pixels of that would be valid: read the \
         full size, or make the overviews again with masks"
    );
    Err(Error::Request { file: file.name().to_owned(), problem })
}
