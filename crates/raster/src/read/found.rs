//! Groups of windows and tiles. Those of one level of one file with the same bands are located together.

use super::area::Frame;
use super::canvas::{Blended, Canvas, Content, Tile};
use super::facts::Facts;
use super::request::{Asked, Request};
use super::resolve::{Group, Held, Laid, Role, Slot};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::options::{Meaning, Place};
use crate::source::{MemorySource, Source};
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::EngineError;

/// Identifies a group: the file, its page, its level, the bands, and the mosaic of tiles.
type Key<'a> = (usize, usize, usize, Option<&'a [u16]>, Option<OfMosaic<'a>>);

/// The mosaic of a tile, its bands that decide how samples are converted, and whether the tile belongs to a mask.
type OfMosaic<'a> = (usize, &'a [u16], bool);

/// Windows and tiles found in their files.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub(super) groups: Vec<Group<'a>>,
    known: BTreeMap<Key<'a>, usize>,
    pub(super) sources: Sources,
    pub(super) slots: Vec<Slot>,
    pub(super) canvases: Vec<(usize, Laid<'a>)>,
    pub(super) held: Vec<Held>,
}

impl<'a> Found<'a> {
    /// Returns the group of a request for pixels of a file.
    pub(super) fn group(
        &mut self,
        asked: &Asked<'a>,
        request: &'a Request<'a>,
        dataset: &'a Dataset,
    ) -> Result<&mut Group<'a>> {
        let place = request.place.as_ref();
        let bands = place.bands.as_deref();
        let key = (std::ptr::from_ref(dataset).addr(), place.page, place.level, bands, None);
        self.known_or(key, || {
            let facts = dataset.facts(place, asked.meaning, asked.execution)?;
            Ok((dataset, facts, place.level, Role::Pixels))
        })
    }

    /// Adds a window of a mosaic, and its mask.
    pub(super) fn add_mosaic(&mut self, asked: &Asked<'a>, window: usize, canvas: &'a Canvas) -> Result<()> {
        let blended = self.add_tiles(asked, window, canvas, Role::Tile)?;
        let blended_mask = match &canvas.mask {
            Some(mask) => self.add_tiles(asked, window, &mask.canvas, Role::MaskTile)?,
            None => None,
        };
        self.canvases.push((window, Laid { canvas, converts: Vec::new(), blended, blended_mask }));
        Ok(())
    }

    /// Adds the rectangles of a canvas. Returns the source of blended pixels.
    fn add_tiles(
        &mut self,
        asked: &Asked<'a>,
        window: usize,
        canvas: &'a Canvas,
        role: Role,
    ) -> Result<Option<u32>> {
        let (left, top) = canvas.corner();
        for Tile { dataset, bands, window: pixels, at, band, .. } in canvas.tiles() {
            let file = std::ptr::from_ref(dataset.as_ref()).addr();
            let of = (canvas.mosaic, canvas.converted_as(*band, bands.len()), role == Role::MaskTile);
            let key = (file, 0, 0, Some(bands.as_ref()), Some(of));
            let slot = self.slots.len();
            let group = self.known_or(key, || {
                // The window and the conversion of samples are those of the mosaic.
                let place = Place::new().bands(bands.iter().copied());
                let facts = dataset.facts(&place, &Meaning::default(), asked.execution)?;
                let facts = Facts { unpacking: canvas.unpacking(*band), ..facts };
                Ok((dataset.as_ref(), facts, 0, role))
            })?;
            group.members.push(slot);
            let (frame, at) = (Frame::exactly(*pixels), (left + at.0, top + at.1));
            self.slots.push(Slot { window, frame, inside: Some(*pixels), at, band: *band });
        }
        Ok(match &canvas.content {
            Content::Blended(Blended::Host(source)) => Some(self.sources.add(source)),
            Content::Blended(Blended::Device(len, bytes)) => {
                // Tasks are identified by their source.
                let name: Arc<dyn Source> = Arc::new(MemorySource::new(canvas.name.clone(), Vec::new()));
                let source = self.sources.add(&name);
                self.held.push(Held { source, len: *len, bytes: bytes.clone() });
                Some(source)
            }
            Content::Files { .. } => None,
        })
    }

    /// Returns the group with that key, or creates it.
    fn known_or(
        &mut self,
        key: Key<'a>,
        make: impl FnOnce() -> Result<(&'a Dataset, Facts<'a>, usize, Role)>,
    ) -> Result<&mut Group<'a>> {
        let at = match self.known.get(&key) {
            Some(&at) => at,
            None => {
                let (dataset, facts, level, role) = make()?;
                // Blocks are identified by level, row and column; pages by their source.
                let source = self.sources.index(facts.source, key.1);
                let members = Vec::new();
                self.groups.push(Group { dataset, facts, source, level, members, convert: None, role });
                self.known.insert(key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        self.groups.get_mut(at).ok_or(Error::Engine(EngineError::Abandoned))
    }
}

/// Files and pages, in the order of their first use.
#[derive(Default)]
pub(super) struct Sources {
    known: BTreeMap<(usize, usize), u32>,
    pub(super) list: Vec<Arc<dyn Source>>,
}

impl Sources {
    fn index(&mut self, source: &Arc<dyn Source>, page: usize) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let key = (Arc::as_ptr(source).addr(), page);
        let at = *self.known.entry(key).or_insert(next);
        if at == next {
            self.add(source);
        }
        at
    }

    /// Adds a source that no other group shares.
    pub(super) fn add(&mut self, source: &Arc<dyn Source>) -> u32 {
        self.list.push(Arc::clone(source));
        u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
    }
}
