//! The mosaics of a read of many files: one call each, and the handling of damaged sources.

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

/// Returns a number that identifies a mosaic.
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

    /// Creates one call per mosaic, for a result in the memory `to`.
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
    /// Returns the call of a mosaic.
    pub(crate) fn of(&self, vrt: &Vrt) -> Option<&Shared<'a>> {
        self.0.get(&key(vrt))
    }

    /// Returns the sources that were skipped, and the reasons.
    pub(crate) fn holes(&self) -> Vec<(String, String)> {
        self.0.values().flat_map(Shared::holes).collect()
    }

    /// Returns and removes the faults of blended sources so far, each with the name of its file.
    pub(crate) fn take_faults(&self) -> Vec<(String, LocatedFault)> {
        self.0.values().flat_map(Shared::take_faults).collect()
    }

    /// Skips the sources that an error names, if these should only cause warnings: everything is then read again.
    /// `named` are the files of each window of a mosaic. Returns any other error.
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
