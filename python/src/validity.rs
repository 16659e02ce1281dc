//! Masks that `masked` of a read leaves alone: it knows of nodata values, and a file without one may have a mask image or
//! alpha instead.

use strile::{BatchWindow, Error, Layer, MaskSource, ReadOptions, Result};

/// The mask image or the alpha that says which pixels of a level are valid, where there is no nodata value.
pub(crate) fn beside_nodata(
    dataset: &strile::Dataset,
    page: usize,
    overview: Option<usize>,
) -> Option<MaskSource> {
    if dataset.metadata().nodata.is_some() {
        return None;
    }
    let source = |overview| dataset.mask_source(&ReadOptions { page, overview, ..ReadOptions::default() });
    // An overview may lack the mask that its image has. A level that is not there is refused by who reads it.
    let found = [overview, None].into_iter().filter_map(|level| source(level).ok());
    found.into_iter().find(|source| matches!(source, MaskSource::Image | MaskSource::Alpha(_)))
}

/// Refuses the mask of an overview that has none where its image has one: all of it would be valid.
pub(crate) fn refuse_lost(file: &strile::Dataset, options: &ReadOptions) -> Result<()> {
    let Some(overview) = options.overview.filter(|_| options.layer == Layer::Mask) else { return Ok(()) };
    let whole = ReadOptions { overview: None, ..options.clone() };
    let [own, whole] = [options, &whole].map(|options| file.mask_source(options).ok());
    if own != Some(MaskSource::AllValid) || whole != Some(MaskSource::Image) {
        return Ok(());
    }
    let problem = format!(
        "its image has a mask and its overview {overview} has none, so that all pixels of that would be valid: read the \
         full size, or make the overviews again with masks"
    );
    Err(Error::Request { file: file.name().to_owned(), problem })
}

/// Refuses windows of files whose mask would be ignored.
pub(crate) fn refuse_ignored(files: &[&strile::Dataset], windows: &[BatchWindow]) -> Result<()> {
    let mut last = None;
    for window in windows {
        // Neighbours are often of one level: it is looked at once.
        let level = (window.file, window.page, window.overview);
        if last.replace(level) == Some(level) {
            continue;
        }
        let Some(file) = files.get(window.file) else { continue };
        let (has, instead) = match beside_nodata(file, window.page, window.overview) {
            Some(MaskSource::Alpha(band)) if window.bands.as_deref() == Some(&[band]) => continue,
            Some(MaskSource::Alpha(band)) => {
                (format!("alpha in band {band}"), format!(" and with band {band} among `bands`"))
            }
            Some(_) => ("a mask image".to_owned(), String::new()),
            None => continue,
        };
        let problem = format!(
            "it has no nodata value but {has}, which a batch does not apply: read batches without `masked` and `unpack`\
             {instead}, or one window at a time by `strile.read(…, masked=True)`"
        );
        return Err(Error::Request { file: file.name().to_owned(), problem });
    }
    Ok(())
}
