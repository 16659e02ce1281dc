//! Cache of parsed headers. The tiles of a file have identical headers, so only the position of their data has to be
//! found: a twentieth of the work for a tile of 256 x 256 pixels.
//!
//! Only for pictures of one scan; if any byte differs, the headers are parsed as usual.

use super::JpegStream;
use super::cut::{Cut, ScanBytes};
use super::plan::Plan;
use std::sync::Arc;
use strile_codestream::StoredBlock;
use strile_codestream::jpeg::{self, Scan};
use strile_engine::BlockLayout;

/// Headers that were parsed before: tiles with the same header skip parsing.
#[derive(Debug)]
pub(super) struct Known {
    /// The stream up to the data of its scan.
    headers: Vec<u8>,
    layout: BlockLayout,
    rows: u32,
    scan: Scan,
    plan: Arc<Plan>,
}

impl Known {
    /// Returns the parsed headers of a stream; `None` if it has several scans.
    pub(super) fn new(
        stream: &[u8],
        block: StoredBlock<'_>,
        found: &jpeg::SequentialJpeg,
        plan: &Arc<Plan>,
    ) -> Option<Self> {
        let [scan] = found.scans.as_slice() else { return None };
        let headers = stream.get(..scan.data.range.start)?.to_vec();
        let (layout, rows) = (block.layout.clone(), block.rows);
        Some(Self { headers, layout, rows, scan: scan.clone(), plan: Arc::clone(plan) })
    }

    /// Returns the picture of a stream with these headers; `None` if the headers differ or the stream has an error.
    pub(super) fn picture(&self, stream: &[u8], block: StoredBlock<'_>, cut: Cut) -> Option<JpegStream> {
        let same =
            stream.starts_with(&self.headers) && block.rows == self.rows && *block.layout == self.layout;
        let data = same.then(|| self.scan.data_in(stream).ok())??;
        let scans = vec![ScanBytes::new(data, self.scan.units(), cut, 0)];
        Some(JpegStream { scans, plan: Arc::clone(&self.plan) })
    }
}
