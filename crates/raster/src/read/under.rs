//! A checked file of a read onto a grid.

use super::steps::{is_inverted, is_turned};
use crate::error::Result;
use crate::file::input::InputRef;
use crate::grid::{Onto, Placed};
use crate::options::{Layer, Place, ReadOptions};
use strile_engine::Context;
use strile_tiff::DataType;

/// A file under the grid.
pub(super) struct File<'a> {
    pub(super) of: InputRef<'a>,
    pub(super) placed: Placed,
    /// The type that it stores, if known.
    pub(super) data_type: Option<DataType>,
    /// Decoded bytes per pixel.
    pub(super) bytes: u64,
}

impl<'a> File<'a> {
    /// Finds the level of a file to read. Fails if it cannot be read onto the grid.
    pub(super) fn new(
        of: InputRef<'a>,
        options: &ReadOptions,
        onto: &Onto,
        context: &Context,
    ) -> Result<Self> {
        let refuse = |problem: &str| Err(of.refuse(format!("cannot read onto a grid: {problem}")));
        match options {
            _ if options.place.page > 0 => {
                return refuse("the georeference of pages after the first is not known");
            }
            _ if options.place.level > 0 => return refuse("the `level` is one of the options of the warp"),
            _ if options.place.reduce > 0 => return refuse("`reduce` is not available"),
            _ if options.place.layer == Layer::Mask => {
                return refuse("a batch has no masks; read its pixels `masked`");
            }
            _ => {}
        }
        let (levels, bands, stored) = match of {
            InputRef::Tiff(dataset) => {
                let target = dataset.target(&options.place)?;
                match options {
                    _ if is_turned(&target.image, options.layout) => {
                        return refuse("the image is turned by its Orientation; read it as it is stored");
                    }
                    _ if is_inverted(&target.image, &options.meaning) => {
                        return refuse("white as maximum is not available; read stored values");
                    }
                    _ => {}
                }
                let levels = dataset.pages().first().map(|page| page.levels.as_slice()).unwrap_or_default();
                let levels = levels.iter().map(|level| (level.image.width, level.image.height)).collect();
                (levels, target.bands.len(), target.image.sample.data_type())
            }
            InputRef::Vrt(vrt) => {
                let (_, bands) = vrt.target(&Place { onto: None, ..options.place.clone() })?;
                (vec![of.size()], bands.len(), Some(vrt.data_type()))
            }
        };
        let placed = of.places().place(&of.metadata().georeference, &levels, onto, context);
        let placed = placed.map_err(|problem| of.refuse(problem.to_string()))?;
        let data_type = stored;
        let stored = stored.map_or(16, |data_type| data_type.size() as u64);
        let sample = if options.meaning.is_masked() { 8 } else { stored };
        Ok(Self { of, placed, data_type, bytes: (bands as u64).saturating_mul(sample).saturating_add(1) })
    }

    /// Returns the same file under a grid of the same system and pixels at another place.
    pub(super) fn moved_to(&self, options: &ReadOptions, onto: &Onto, context: &Context) -> Result<Self> {
        let moved = self.placed.moved_to(onto, context);
        match moved.map_err(|problem| self.of.refuse(problem.to_string()))? {
            Some(placed) => Ok(Self { placed, ..*self }),
            None => Self::new(self.of, options, onto, context),
        }
    }
}
