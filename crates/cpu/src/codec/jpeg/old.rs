//! Old-style JPEG of TIFF 6.0: the strip is a complete JPEG stream, or its tables are stored separately.
//!
//! Old-style files keep tables and frame header anywhere in the file. The code that opens the image collects them in
//! `jpeg_tables`, a stream of SOI, tables and frame header, to which the strip adds the scan. A strip that is a
//! complete stream needs none of it. Three components are YCbCr even if the image says RGB: old writers got this wrong,
//! and libtiff reads them like this.

use crate::codec::jpeg::{self, Stream};
use crate::codec::workspace::out_of_memory;
use crate::codec::{StoredBlock, Workspace};
use strile_codestream::jpeg::Colours;
use strile_engine::memory::try_with_capacity;
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::Photometric;

const SOI: [u8; 2] = [0xFF, 0xD8];
const EOI: [u8; 2] = [0xFF, 0xD9];
const SOS: [u8; 2] = [0xFF, 0xDA];

/// Returns the working memory: that of the decoder, and the assembled stream.
pub(in crate::codec) fn working_len(layout: &BlockLayout, rows: u32, encoded: u64) -> u64 {
    let header = layout.extras.jpeg_tables.as_ref().map_or(0, |tables| tables.len() as u64);
    let stream = encoded.saturating_add(header).saturating_add(2);
    jpeg::working_len(layout, rows, stream).saturating_add(stream)
}

pub(in crate::codec) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let extras = &block.layout.extras;
    let as_ycbcr = extras.ycbcr.is_some() || extras.photometric == Photometric::Rgb;
    let colours = if as_ycbcr { Colours::YCbCr } else { Colours::AsStored };
    if src.starts_with(&SOI) {
        return Stream { src, tables: extras.jpeg_tables.as_deref(), colours }.decode(dst, block, workspace);
    }
    let Some(header) = extras.jpeg_tables.as_deref().filter(|header| header.starts_with(&SOI)) else {
        return Err(BlockFault::unsupported("old-style JPEG without a JPEG stream or its tables"));
    };
    let has_scan_header = src.starts_with(&SOS);
    let header = header.strip_suffix(&EOI).unwrap_or(header);
    if !has_scan_header && !header.windows(2).any(|pair| pair == SOS) {
        return Err(BlockFault::unsupported("old-style JPEG without a scan header"));
    }
    let len = header.len().saturating_add(src.len()).saturating_add(EOI.len());
    let stream = try_with_capacity(len, "a JPEG stream");
    let mut stream = stream.map_err(|error| out_of_memory(len, error.purpose))?;
    stream.extend_from_slice(header);
    stream.extend_from_slice(src);
    if !src.ends_with(&EOI) {
        stream.extend(EOI);
    }
    Stream { src: &stream, tables: None, colours }.decode(dst, block, workspace)
}

#[cfg(test)]
mod tests {
    use crate::codec::testing::{decode_block, layout};
    use strile_engine::FaultKind;
    use strile_tiff::Compression;

    const GREY: &[u8] = include_bytes!("../../../tests/data/gray.jpg");

    #[test]
    fn headers_may_be_apart() {
        let mut layout = layout(Compression::OldJpeg, (24, 16), (1, 8));
        let whole = decode_block(GREY, &layout).unwrap();
        let scan = GREY.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap();
        assert_eq!(decode_block(&GREY[scan..], &layout).unwrap_err().kind, FaultKind::Unsupported);
        layout.extras.jpeg_tables = Some(GREY[..scan].into());
        assert_eq!(decode_block(&GREY[scan..], &layout).unwrap(), whole);
        // The tables include the scan header; the strip is bare data without EOI.
        layout.extras.jpeg_tables = Some(GREY[..scan + 10].into());
        assert_eq!(decode_block(&GREY[scan + 10..GREY.len() - 2], &layout).unwrap(), whole);
    }
}
