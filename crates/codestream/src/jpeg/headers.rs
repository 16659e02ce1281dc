//! The marker segments of a JPEG stream: its frame header, and tables added to an abbreviated stream.
//!
//! Only headers are read; entropy-coded data stay untouched.

use super::coded_data;
use strile_engine::BlockFault;

/// Start of image.
pub const SOI: u8 = 0xD8;
/// End of image.
pub const EOI: u8 = 0xD9;
/// Scan header; entropy-coded data follow it.
pub const SOS: u8 = 0xDA;
/// Huffman tables.
pub const DHT: u8 = 0xC4;
/// Quantisation tables.
pub const DQT: u8 = 0xDB;
/// Restart interval.
pub const DRI: u8 = 0xDD;
/// Adobe's segment with the colour transform.
const APP14: u8 = 0xEE;

/// A frame header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The marker, 0xC0 to 0xCF.
    pub marker: u8,
    /// Bits per sample.
    pub precision: u8,
    /// Rows.
    pub height: u16,
    /// Columns.
    pub width: u16,
    /// Components, in order.
    pub components: Vec<Component>,
}

/// A component of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Identifier used by scans.
    pub id: u8,
    /// Horizontal and vertical sampling factor, 1 to 4 each.
    pub sampling: (u8, u8),
    /// Number of its quantisation table.
    pub quantisation: u8,
}

/// A segment: its marker, its contents, and its end.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// The marker without its 0xFF.
    pub marker: u8,
    /// Contents after the length; empty for markers without one.
    pub body: &'a [u8],
    start: usize,
    /// Start of the next segment, or of the data of a scan.
    pub end: usize,
}

/// Returns the segments of `bytes` after SOI, up to EOI, the first scan header or the end.
pub fn segments(bytes: &[u8]) -> impl Iterator<Item = Result<Segment<'_>, BlockFault>> {
    let mut at = if bytes.starts_with(&[0xFF, SOI]) { Some(2) } else { None };
    let mut begun = false;
    std::iter::from_fn(move || {
        let Some(start) = at else {
            let first = !std::mem::replace(&mut begun, true);
            return first.then(|| Err(BlockFault::corrupt("not a JPEG stream")));
        };
        begun = true;
        let segment = segment_at(bytes, start);
        at = match &segment {
            Some(Ok(segment)) if segment.marker != SOS && segment.marker != EOI => Some(segment.end),
            _ => None,
        };
        segment
    })
}

/// Returns the segment at `start`, or `None` at the end of `bytes`.
pub fn segment_at(bytes: &[u8], start: usize) -> Option<Result<Segment<'_>, BlockFault>> {
    let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
    let fill = rest.iter().take_while(|&&byte| byte == 0xFF).count();
    let Some(&marker) = rest.get(fill) else {
        return Some(Err(BlockFault::corrupt("JPEG: no marker after fill bytes")));
    };
    if fill == 0 || marker == 0 {
        return Some(Err(BlockFault::corrupt(format!("JPEG: no marker at byte {start}"))));
    }
    let after = start + fill + 1;
    if matches!(marker, 0x01 | 0xD0..=EOI) {
        return Some(Ok(Segment { marker, body: &[], start, end: after }));
    }
    let len =
        bytes.get(after..).and_then(|b| b.first_chunk()).map(|&len| usize::from(u16::from_be_bytes(len)));
    let body = len.filter(|&len| len >= 2).and_then(|len| bytes.get(after + 2..after + len));
    let Some(body) = body else {
        return Some(Err(BlockFault::corrupt(format!("JPEG: segment at byte {start} is cut short"))));
    };
    Some(Ok(Segment { marker, body, start, end: after + 2 + body.len() }))
}

/// Returns the frame header of a stream.
pub fn frame(src: &[u8]) -> Result<Frame, BlockFault> {
    for segment in segments(src) {
        let Segment { marker, body, .. } = segment?;
        if matches!(marker, 0xC0..=0xCF) && !matches!(marker, DHT | 0xC8 | 0xCC) {
            return parse_frame(marker, body)
                .ok_or_else(|| BlockFault::corrupt("JPEG: frame header is not valid"));
        }
    }
    Err(BlockFault::corrupt("JPEG: no frame header"))
}

fn parse_frame(marker: u8, body: &[u8]) -> Option<Frame> {
    let (&[precision, h1, h0, w1, w0, count], components) = body.split_first_chunk()?;
    if components.len() != 3 * usize::from(count) || count == 0 {
        return None;
    }
    let components = components.as_chunks().0.iter().map(|&[id, factors, quantisation]| Component {
        id,
        sampling: (factors >> 4, factors & 15),
        quantisation,
    });
    let components: Vec<_> = components.collect();
    let valid = components.iter().all(|c| matches!(c.sampling, (1..=4, 1..=4)));
    let (height, width) = (u16::from_be_bytes([h1, h0]), u16::from_be_bytes([w1, w0]));
    valid.then_some(Frame { marker, precision, height, width, components })
}

/// Checks that scans hold every component of the frame, and that the stream reaches EOI; returns the number of scans.
///
/// Decoders take a marker among the data of the last scan as its end, and leave or pad the rows after it. In a
/// sequential frame nothing can follow once every component had its scan, so it is a fault there; the scans of a
/// progressive frame repeat components.
pub fn check_scans(src: &[u8], frame: &Frame) -> Result<u32, BlockFault> {
    let sequential = frame.marker != 0xC2;
    let mut missing: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
    let mut at = 2;
    let mut scans = 0_u32;
    loop {
        let segment = segment_at(src, at).ok_or_else(|| BlockFault::truncated(0, 0))??;
        let Segment { marker, body, end, .. } = segment;
        match marker {
            EOI => break,
            _ if scans > 0 && sequential && missing.is_empty() => {
                return Err(BlockFault::corrupt(format!(
                    "JPEG: marker {marker:#04X} among the last scan's data"
                )));
            }
            SOS => {
                let count = body.first().map_or(0, |&count| usize::from(count));
                let named = body.get(1..).unwrap_or_default().as_chunks::<2>().0.iter().take(count);
                named.for_each(|&[id, _]| missing.retain(|&other| other != id));
                scans = scans.saturating_add(1);
                at = coded_data::end(src, end);
            }
            _ => at = end,
        }
    }
    match missing.first() {
        Some(id) => Err(BlockFault::corrupt(format!("JPEG: no scan of component {id}"))),
        None => Ok(scans),
    }
}

/// What to tell decoders that follow Adobe's marker about the components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Components are stored without a colour transform.
    AsStored,
    /// The three components are Y, Cb and Cr.
    YCbCr,
}

/// Refuses four components that differ from the image's photometric interpretation, or would have to be converted:
/// those of a YCbCr image, and YCCK by Adobe's marker (T.872, 6.5.3: transform 2). All others are inks as stored, also
/// inverted ones.
pub fn check_inks(src: &[u8], frame: &Frame, colours: Colours) -> Result<(), BlockFault> {
    if frame.components.len() != 4 {
        return Ok(());
    }
    if colours == Colours::YCbCr {
        return Err(BlockFault::unsupported("JPEG of four components in a YCbCr image"));
    }
    for segment in segments(src) {
        let Segment { marker, body, .. } = segment?;
        if marker == APP14 && body.starts_with(b"Adobe") && body.get(11) == Some(&2) {
            return Err(BlockFault::unsupported(
                "JPEG of YCCK colours, as Adobe's marker says; only CMYK is read",
            ));
        }
    }
    Ok(())
}

/// Returns a complete stream from an abbreviated one and its tables, with a single colour marker written here.
pub fn complete(src: &[u8], tables: Option<&[u8]>, colours: Colours) -> Result<Vec<u8>, BlockFault> {
    let transform = match colours {
        Colours::AsStored => 0,
        Colours::YCbCr => 1,
    };
    let mut stream = Vec::with_capacity(src.len() + tables.map_or(0, <[u8]>::len) + 18);
    stream.extend([0xFF, SOI, 0xFF, APP14, 0, 14]);
    stream.extend(b"Adobe");
    stream.extend([0, 100, 0, 0, 0, 0, transform]);
    for segment in tables.into_iter().flat_map(segments) {
        let segment = segment?;
        if !matches!(segment.marker, APP14 | EOI | SOS) {
            stream.extend(tables.and_then(|bytes| bytes.get(segment.start..segment.end)).unwrap_or_default());
        }
    }
    let mut after_headers = src.len();
    for segment in segments(src) {
        let segment = segment?;
        if segment.marker == SOS || segment.marker == EOI {
            after_headers = segment.start;
        } else if segment.marker != APP14 {
            stream.extend(src.get(segment.start..segment.end).unwrap_or_default());
        }
    }
    stream.extend(src.get(after_headers..).unwrap_or_default());
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SOI, a comment, a frame of 3 x 2 pixels, a scan header with two bytes of data, EOI.
    const STREAM: &[u8] = &[
        0xFF, 0xD8, 0xFF, 0xFE, 0, 3, 7, 0xFF, 0xC0, 0, 11, 8, 0, 2, 0, 3, 1, 1, 0x11, 0, 0xFF, 0xDA, 0, 8,
        1, 1, 0, 0, 63, 0, 0x55, 0xAA, 0xFF, 0xD9,
    ];

    #[test]
    fn reads_the_frame() {
        let components = vec![Component { id: 1, sampling: (1, 1), quantisation: 0 }];
        assert_eq!(frame(STREAM), Ok(Frame { marker: 0xC0, precision: 8, height: 2, width: 3, components }));
    }

    #[test]
    fn tables_go_before_the_stream_and_adobe_goes() {
        let tables = [0xFF, 0xD8, 0xFF, 0xEE, 0, 3, 9, 0xFF, 0xDD, 0, 4, 0, 5, 0xFF, 0xD9];
        let whole = complete(STREAM, Some(&tables), Colours::AsStored).unwrap();
        let mut expected =
            vec![0xFF, 0xD8, 0xFF, 0xEE, 0, 14, b'A', b'd', b'o', b'b', b'e', 0, 100, 0, 0, 0, 0, 0];
        expected.extend([0xFF, 0xDD, 0, 4, 0, 5]);
        expected.extend(&STREAM[2..]);
        assert_eq!(whole, expected);
    }

    #[test]
    fn scans_hold_every_component_once_and_end_at_eoi() {
        let mut frame = frame(STREAM).unwrap();
        assert_eq!(check_scans(STREAM, &frame), Ok(1));
        assert!(check_scans(&STREAM[..STREAM.len() - 1], &frame).is_err());
        let again = [&STREAM[..STREAM.len() - 2], &STREAM[20..]].concat();
        let fault = check_scans(&again, &frame).unwrap_err();
        assert_eq!(fault.detail, "JPEG: marker 0xDA among the last scan's data");
        frame.marker = 0xC2;
        assert_eq!(check_scans(&again, &frame), Ok(2));
        frame.components.push(Component { id: 2, sampling: (1, 1), quantisation: 0 });
        assert_eq!(check_scans(STREAM, &frame).unwrap_err().detail, "JPEG: no scan of component 2");
    }

    #[test]
    fn refuses_what_is_cut_short() {
        for len in 0..20 {
            assert!(frame(&STREAM[..len]).is_err(), "{len}");
        }
        assert_eq!(frame(b"II*\0").unwrap_err().detail, "not a JPEG stream");
    }
}
