//! The mosaics of a read of many files: one call each, and what is done about sources that prove damaged.

use super::Vrt;
use super::call::{Shared, Work};
use super::canvas::{Named, by_file, file_of};
use crate::error::{Error, Result};
use crate::file::input::InputRef;
use crate::options::Execution;
use std::collections::{BTreeMap, BTreeSet};
use strile_engine::{Context, LocatedFault, Location};

/// The mosaics among some files, each once, with its counter of work.
pub(crate) struct Mosaics<'a>(BTreeMap<usize, (&'a Vrt, Work)>);

/// The call of each mosaic.
pub(crate) struct Calls<'a>(BTreeMap<usize, Shared<'a>>);

/// What tells mosaics apart.
fn key(vrt: &Vrt) -> usize {
    std::ptr::from_ref(vrt).addr()
}

impl<'a> Mosaics<'a> {
    pub(crate) fn among(files: impl Iterator<Item = InputRef<'a>>) -> Self {
        let mut found = BTreeMap::new();
        for file in files {
            if let InputRef::Vrt(vrt) = file {
                found.entry(key(vrt)).or_insert_with(|| (vrt, vrt.work()));
            }
        }
        Self(found)
    }

    /// One call for each, for a result in the memory `to`.
    pub(crate) fn calls<'b>(
        &'b self,
        (execution, to): (&'b Execution, Location),
        context: &'b Context,
    ) -> Calls<'b> {
        let call = |(&at, (vrt, work)): (&usize, &'b (&'a Vrt, Work))| {
            (at, Shared::new(vrt, (execution, to), context, work))
        };
        Calls(self.0.iter().map(call).collect())
    }
}

impl<'a> Calls<'a> {
    /// The call of a mosaic.
    pub(crate) fn of(&self, vrt: &Vrt) -> Option<&Shared<'a>> {
        self.0.get(&key(vrt))
    }

    /// Sources that were gone on without, and why.
    pub(crate) fn holes(&self) -> Vec<(String, String)> {
        self.0.values().flat_map(Shared::holes).collect()
    }

    /// Faults of sources that were blended since the last time, each with the name of its file.
    pub(crate) fn take_faults(&self) -> Vec<(String, LocatedFault)> {
        self.0.values().flat_map(Shared::take_faults).collect()
    }

    /// Goes on without the sources that an error tells of, where these are only to be warned of: all is then read anew.
    /// `named` are the files of each window of a mosaic. Any other error is returned.
    pub(crate) fn go_without(&self, named: &[(usize, Named)], error: Error) -> Result<()> {
        if self.0.values().all(|call| call.vrt().raises()) {
            return Err(error);
        }
        for error in by_file(error) {
            let known = named.iter().filter_map(|(mosaic, named)| Some((*mosaic, file_of(named, &error)?)));
            let known: BTreeSet<(usize, u32)> = known.collect();
            if known.is_empty() {
                return Err(error);
            }
            for (mosaic, file) in known {
                if let Some(call) = self.0.get(&mosaic) {
                    call.vrt().go_without(file, error.clone(), &call.call())?;
                }
            }
        }
        Ok(())
    }
}
