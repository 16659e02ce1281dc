//! Groups of windows and tiles: those of one level of one file with the same bands are located together.

use super::area::Frame;
use super::canvas::{Canvas, Content, Tile};
use super::facts::Facts;
use super::request::{Asked, Request};
use super::resolve::{Group, Laid, Role, Slot};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::source::Source;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::EngineError;

/// What tells groups apart: the file, its page, its level, the bands, and the mosaic that tiles are of, with those of its
/// bands that are read: samples are converted as these say.
type Key<'a> = (usize, usize, usize, Option<&'a [u16]>, Option<(usize, &'a [u16])>);

/// Windows and tiles, as they are found in their files.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub(super) groups: Vec<Group<'a>>,
    known: BTreeMap<Key<'a>, usize>,
    pub(super) sources: Sources,
    pub(super) slots: Vec<Slot>,
    pub(super) canvases: Vec<(usize, Laid<'a>)>,
}

impl<'a> Found<'a> {
    /// The group of a request for pixels of a file.
    pub(super) fn group(
        &mut self,
        asked: &Asked<'a>,
        request: &Request<'a>,
        dataset: &'a Dataset,
    ) -> Result<&mut Group<'a>> {
        let Request { page, level, bands, .. } = *request;
        let key = (std::ptr::from_ref(dataset).addr(), page, level, bands, None);
        self.known_or(key, || {
            let bands = bands.map(<[u16]>::to_vec);
            let facts = dataset.facts(&ReadOptions { page, level, bands, ..asked.options.clone() })?;
            Ok((dataset, facts, level, Role::Pixels))
        })
    }

    /// Adds a window of a mosaic.
    pub(super) fn add_mosaic(&mut self, asked: &Asked<'a>, window: usize, canvas: &'a Canvas) -> Result<()> {
        let (left, top) = canvas.corner();
        for Tile { dataset, bands, window: pixels, at, band, .. } in canvas.tiles() {
            let file = std::ptr::from_ref(dataset.as_ref()).addr();
            let of = (canvas.mosaic, canvas.bands.as_slice());
            let key = (file, 0, 0, Some(bands.as_ref()), Some(of));
            let slot = self.slots.len();
            let group = self.known_or(key, || {
                // The window and what becomes of samples are those of the mosaic.
                let options = ReadOptions {
                    page: 0,
                    level: 0,
                    reduce: 0,
                    window: None,
                    bands: Some(bands.to_vec()),
                    masked: false,
                    unpack: false,
                    ..asked.options.clone()
                };
                let facts = Facts { unpacking: canvas.unpacking, ..dataset.facts(&options)? };
                Ok((dataset.as_ref(), facts, 0, Role::Tile))
            })?;
            group.members.push(slot);
            let (frame, at) = (Frame::exactly(*pixels), (left + at.0, top + at.1));
            self.slots.push(Slot { window, frame, inside: Some(*pixels), at, band: *band });
        }
        let blended = match &canvas.content {
            Content::Blended(source) => Some(self.sources.add(source)),
            Content::Files { .. } => None,
        };
        let mask = canvas.mask.as_ref().map(|mask| self.sources.add(mask));
        self.canvases.push((window, Laid { canvas, convert: None, blended, mask }));
        Ok(())
    }

    /// The group that is known by that key, else the one that is made.
    fn known_or(
        &mut self,
        key: Key<'a>,
        make: impl FnOnce() -> Result<(&'a Dataset, Facts<'a>, usize, Role)>,
    ) -> Result<&mut Group<'a>> {
        let at = match self.known.get(&key) {
            Some(&at) => at,
            None => {
                let (dataset, facts, level, role) = make()?;
                // Blocks are named by level, row and column: pages are told apart by their source.
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

/// Files and pages, in the order in which they were met.
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
