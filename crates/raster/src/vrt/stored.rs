//! Stored size of a mosaic: that of its existing sources.

use super::Vrt;
use super::call::{Call, Shared};
use super::opened::Opened;
use crate::error::Result;
use crate::options::Execution;
use crate::read::{Size, check_result};
use crate::source::url_of;
use std::path::Path;
use strile_engine::{Context, Location};

/// Maximum number of sources that are examined. The others are assumed to be as large on average.
const LOOKED_AT: u32 = 4096;
/// The same for remote sources.
const REMOTE_LOOKED_AT: u32 = 64;

impl Vrt {
    /// Checks the size of a result by the rule of every read; see `ReadOptions::max_pixels`.
    pub fn check_size(&self, samples: u64, bytes: u64, max_pixels: Option<u64>) -> Result<()> {
        check_result((&self.name, "its sources"), Size { samples, bytes }, max_pixels, || self.stored())
    }

    /// Returns the bytes of all sources.
    pub(crate) fn stored(&self) -> u64 {
        let (execution, context, work) = (Execution::default(), Context::default(), self.work());
        let shared = Shared::new(self, (&execution, Location::Host), &context, &work);
        self.stored_len(&mut LOOKED_AT.clone(), &shared.call())
    }

    pub(super) fn check_result(&self, size: Size, execution: &Execution) -> Result<()> {
        self.check_size(size.samples, size.bytes, execution.max_pixels)
    }

    /// Returns the bytes of all sources. Examines at most `left` of them and their own sources.
    fn stored_len(&self, left: &mut u32, call: &Call<'_>) -> u64 {
        let (mut sum, mut seen) = (0u64, 0u64);
        for (file, named) in (0u32..).zip(&self.files) {
            let Some(less) = left.checked_sub(1) else { break };
            *left = less;
            seen += 1;
            let Ok(path) = self.resolve(named) else { continue };
            let is_remote = url_of(&path).is_some();
            if is_remote {
                // Each takes a request.
                *left = (*left).saturating_sub(LOOKED_AT / REMOTE_LOOKED_AT);
            }
            let len = match is_remote || is_named_as_mosaic(&path) {
                true => match self.source(file, call) {
                    Ok(Some(in_use)) => match in_use.opened.as_ref() {
                        Opened::Mosaic(nested) => nested.stored_len(left, &call.inside(nested)),
                        Opened::File(leaf) => leaf.dataset.stored_len(),
                        Opened::Warped(warped) => warped.leaf().map_or(0, |leaf| leaf.dataset.stored_len()),
                    },
                    _ => 0,
                },
                false => std::fs::metadata(&path).map_or(0, |found| found.len()),
            };
            sum = sum.saturating_add(len);
        }
        let (sum, all) = (u128::from(sum), self.files.len() as u128);
        u64::try_from(sum * all / u128::from(seen.max(1))).unwrap_or(u64::MAX)
    }
}

fn is_named_as_mosaic(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("vrt"))
}
