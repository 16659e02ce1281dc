//! GDAL's ghost area: text between the header and the first directory that describes the layout of blocks.
//!
//! ```text
//! GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes     43 bytes with the line end; 140 bytes of text follow
//! LAYOUT=IFDS_BEFORE_DATA
//! BLOCK_ORDER=ROW_MAJOR
//! BLOCK_LEADER=SIZE_AS_UINT4
//! BLOCK_TRAILER=LAST_4_BYTES_REPEATED
//! KNOWN_INCOMPATIBLE_EDITION=NO
//! ```

use crate::error::Result;
use crate::file::open::{OpenFile, io_error};
use crate::source::read_ranges;
use strile_engine::Cancel;
use strile_tiff::Variant;

const TITLE: &[u8] = b"GDAL_STRUCTURAL_METADATA_SIZE=";
const TITLE_LINE: u64 = 43;
/// Digits in the title.
const DIGITS: usize = 6;

/// The ghost area of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GhostArea {
    /// Keys and values in the order of the file.
    pub items: Vec<(String, String)>,
    /// End of the area. A directory after it begins at the next even byte.
    pub end: u64,
}

impl GhostArea {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.items.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn says(&self, key: &str, value: &str) -> bool {
        self.get(key) == Some(value)
    }

    /// Returns whether blocks of a level follow each other row by row.
    pub fn row_major(&self) -> bool {
        self.says("BLOCK_ORDER", "ROW_MAJOR")
    }

    /// Returns whether the size of each block precedes it.
    pub fn leaders(&self) -> bool {
        self.says("BLOCK_LEADER", "SIZE_AS_UINT4")
    }

    /// Returns whether the last four bytes of each block are repeated after it.
    pub fn trailers(&self) -> bool {
        self.says("BLOCK_TRAILER", "LAST_4_BYTES_REPEATED")
    }

    /// Returns whether each block of a mask follows the block of pixels that it masks.
    pub fn mask_interleaved(&self) -> bool {
        self.says("MASK_INTERLEAVED_WITH_IMAGERY", "YES")
    }

    /// Returns whether a later edit broke these promises.
    pub fn edited(&self) -> bool {
        self.says("KNOWN_INCOMPATIBLE_EDITION", "YES")
    }
}

/// Returns the position of the first directory in a file without a ghost area.
pub(crate) fn header_end(file: &OpenFile) -> u64 {
    match file.tiff.header.variant {
        Variant::Classic => 8,
        Variant::Big => 16,
    }
}

/// Reads the ghost area of a file, if it has one.
pub(crate) fn read_ghost_area(file: &OpenFile) -> Result<Option<GhostArea>> {
    let source = file.source.as_ref();
    let start = header_end(file);
    // The title states at most 999,999 bytes. One read of a page is enough for any area that GDAL writes.
    let longest = TITLE_LINE + 1_000_000;
    let mut len = 4096.min(longest);
    loop {
        let range = start..start.saturating_add(len).min(source.len());
        if range.is_empty() {
            return Ok(None);
        }
        let fetched = read_ranges(source, std::slice::from_ref(&range), &Cancel::default());
        let fetched = fetched.map_err(|error| io_error(source, error))?;
        let bytes = fetched.first().map(Vec::as_slice).unwrap_or_default();
        let Some(size) = stated_size(bytes) else { return Ok(None) };
        let whole = TITLE_LINE + size;
        if whole > len && len < longest && range.end < source.len() {
            len = whole;
            continue;
        }
        // If the end of the file cuts it short, the existing bytes count.
        let end = start + whole.min(bytes.len() as u64);
        let from = usize::try_from(TITLE_LINE).unwrap_or(usize::MAX);
        let to = usize::try_from(end - start).unwrap_or(usize::MAX);
        let text = bytes.get(from..to).map(String::from_utf8_lossy).unwrap_or_default();
        return Ok(Some(GhostArea { items: items_of(&text), end: start + whole }));
    }
}

fn stated_size(bytes: &[u8]) -> Option<u64> {
    let rest = bytes.strip_prefix(TITLE)?;
    let digits = std::str::from_utf8(rest.get(..DIGITS)?).ok()?;
    bytes.get(usize::try_from(TITLE_LINE).ok()?..)?;
    digits.trim().parse().ok()
}

/// Splits the text into keys and values. GDAL pads with a space that an edit of `NO` to `YES` uses up.
fn items_of(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (key, value) = line.trim().split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_and_values_whatever_pads_them() {
        let items = items_of("LAYOUT=IFDS_BEFORE_DATA\nKNOWN_INCOMPATIBLE_EDITION=NO\n MASK=YES\nrubbish\n");
        let keys: Vec<&str> = items.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["LAYOUT", "KNOWN_INCOMPATIBLE_EDITION", "MASK"]);
        assert_eq!(items[1].1, "NO");
    }

    #[test]
    fn a_title_without_a_number_is_none() {
        assert_eq!(stated_size(b"GDAL_STRUCTURAL_METADATA_SIZE=00014x bytes\n"), None);
        assert_eq!(stated_size(b"GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\n"), Some(140));
        assert_eq!(stated_size(b"GDAL_STRUCTURAL_METADATA_SIZE=000140"), None);
    }
}
