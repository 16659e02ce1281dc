//! What says which pixels are valid in a file without a nodata value: a mask image or alpha.

use strile::read::MaskSource;
use strile::{Error, Layer, ReadOptions, Result};

/// The mask image or the alpha that says which pixels of a level are valid, where there is no nodata value.
pub(crate) fn beside_nodata(dataset: &strile::Dataset, page: usize, level: usize) -> Option<MaskSource> {
    if dataset.metadata().nodata.is_some() {
        return None;
    }
    let source = |level| dataset.mask_source(&ReadOptions::new().page(page).level(level));
    // An overview may lack the mask that its image has. A level that is not there is refused by who reads it.
    let found = [level, 0].into_iter().filter_map(|level| source(level).ok());
    found.into_iter().find(|source| matches!(source, MaskSource::Image | MaskSource::Alpha(_)))
}

/// Refuses the mask of an overview that has none where its image has one: all of it would be valid.
pub(crate) fn refuse_lost(file: &strile::Dataset, options: &ReadOptions) -> Result<()> {
    let level = options.level;
    if level == 0 || options.layer != Layer::Mask {
        return Ok(());
    }
    let whole = options.clone().level(0);
    let [own, whole] = [options, &whole].map(|options| file.mask_source(options).ok());
    if own != Some(MaskSource::AllValid) || whole != Some(MaskSource::Image) {
        return Ok(());
    }
    let problem = format!(
        "its image has a mask and its level {level} has none, so that all pixels of that would be valid: read the \
         full size, or make the overviews again with masks"
    );
    Err(Error::Request { file: file.name().to_owned(), problem })
}
