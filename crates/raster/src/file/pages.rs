//! Sorts the images of a file into pages, their overviews and their masks.

use super::open::OpenFile;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use strile_tiff::{Image, Limits, Origin, TiffError, Warning, Warnings};

/// One resolution of a page.
#[derive(Debug, Clone)]
pub struct Level {
    /// Index of its file: 0 is the file itself, then sidecars.
    pub file: usize,
    /// The image.
    pub image: Arc<Image>,
    /// Its mask, and the index of the mask's file.
    pub mask: Option<(usize, Arc<Image>)>,
}

/// A full image, then its overviews in the order of the file, as GDAL numbers them: from large to small in files of
/// common writers.
#[derive(Debug, Clone)]
pub struct Page {
    /// Levels of the page. There is at least one.
    pub levels: Vec<Level>,
}

impl Page {
    /// Returns the full image.
    pub fn full(&self) -> Option<&Level> {
        self.levels.first()
    }

    /// Assigns each mask to the first level of its size that has none. `of` limits this to levels of one file. Calls
    /// `stray` with the payload of a mask that no level takes.
    fn add_masks<T>(
        &mut self,
        file: usize,
        masks: impl IntoIterator<Item = (Arc<Image>, T)>,
        of: Option<usize>,
        mut stray: impl FnMut(T),
    ) {
        let mut free: HashMap<(u32, u32), VecDeque<usize>> = HashMap::new();
        for (at, level) in self.levels.iter().enumerate() {
            if level.mask.is_none() && of.is_none_or(|of| level.file == of) {
                free.entry((level.image.width, level.image.height)).or_default().push_back(at);
            }
        }
        for (mask, told) in masks {
            let at = free.get_mut(&(mask.width, mask.height)).and_then(VecDeque::pop_front);
            match at.and_then(|at| self.levels.get_mut(at)) {
                Some(level) => level.mask = Some((file, mask)),
                None => stray(told),
            }
        }
    }

    fn add_overview(&mut self, file: usize, image: Arc<Image>) -> bool {
        let fits = self.full().is_some_and(|full| {
            image.samples == full.image.samples
                && image.width <= full.image.width
                && image.height <= full.image.height
                && (image.width, image.height) != (full.image.width, full.image.height)
        });
        if fits {
            self.levels.push(Level { file, image, mask: None });
        }
        fits
    }
}

/// Sorts a file's directories into pages. The first directory is always the first page, whatever its flags. A directory
/// that is not a valid image is an error if it is the first, and a warning otherwise.
pub(crate) fn pages_of(
    file: &OpenFile,
    limits: &Limits,
    warnings: &mut Warnings,
) -> Result<Vec<Page>, TiffError> {
    let mut pages: Vec<Page> = Vec::new();
    let mut page_of_directory = vec![None; file.tiff.directories.len()];
    let mut masks: HashMap<usize, Vec<(Arc<Image>, String)>> = HashMap::new();
    let room = limits.memory_for(file.tiff.file_len);
    let mut taken = 0_u64;
    for (index, directory) in file.tiff.directories.iter().enumerate() {
        let place = format!("directory at byte {}", directory.offset);
        let image = match Image::from_directory(directory, index, file.tiff.file_len, limits, warnings) {
            Ok(image) => Arc::new(image),
            Err(error) if index == 0 => return Err(error),
            Err(error) => {
                warnings.push(Warning::new("unusable-image", place, format!("skipped: {error}")));
                continue;
            }
        };
        // Samples that are not listed by values, and values that directories share, take memory for every image.
        taken = taken.saturating_add(image.facts_len());
        if taken > room && index > 0 {
            let message =
                format!("skipped with all that follow: images take over {room} bytes before a pixel is read");
            warnings.push(Warning::new("image-limit", place, message));
            break;
        }
        let owner = match directory.origin {
            Origin::Chain(_) => pages.len().checked_sub(1),
            Origin::Sub { parent } => page_of_directory.get(parent).copied().flatten(),
        };
        let is_sub = matches!(directory.origin, Origin::Sub { .. });
        match owner.and_then(|at| pages.get_mut(at)) {
            // Masks are assigned to levels once all levels are known.
            Some(_) if image.subfile.mask => {
                masks.entry(owner.unwrap_or(0)).or_default().push((image, place));
            }
            Some(page) if image.subfile.reduced || is_sub => {
                let size = format!("{} × {} pixels, {} samples", image.width, image.height, image.samples);
                if !page.add_overview(0, image) {
                    let message =
                        format!("reduced image of {size} does not fit the image before it, skipped");
                    warnings.push(Warning::new("stray-overview", place, message));
                }
            }
            _ => {
                if let Some(slot) = page_of_directory.get_mut(index) {
                    *slot = Some(pages.len());
                }
                pages.push(Page { levels: vec![Level { file: 0, image, mask: None }] });
            }
        }
    }
    for (page, owner) in pages.iter_mut().zip(0..) {
        page.add_masks(0, masks.remove(&owner).unwrap_or_default(), None, |place| {
            warnings.push(Warning::new("stray-mask", place, "mask has the size of no image, skipped"));
        });
    }
    Ok(pages)
}

/// Adds the images of a `.ovr` file as overviews of the first page, after those of the file itself.
pub(crate) fn add_external_overviews(pages: &mut [Page], index: usize, external: Vec<Page>) {
    let Some(page) = pages.first_mut() else { return };
    let levels = external.into_iter().flat_map(|page| page.levels);
    let mut masks = Vec::new();
    for level in levels {
        page.add_overview(index, level.image);
        masks.extend(level.mask.map(|(_, mask)| (mask, ())));
    }
    page.add_masks(index, masks, Some(index), |()| {});
}

/// Adds the images of a `.msk` file as masks of the first page, if the file has none of its own.
pub(crate) fn add_external_masks(pages: &mut [Page], index: usize, external: Vec<Page>) {
    let Some(page) = pages.first_mut() else { return };
    if page.full().is_some_and(|full| full.mask.is_some()) {
        return;
    }
    let masks = external.into_iter().flat_map(|page| page.levels).map(|level| (level.image, ()));
    page.add_masks(index, masks, None, |()| {});
}
