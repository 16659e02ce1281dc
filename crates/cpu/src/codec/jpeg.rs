//! JPEG streams by Technical Note 2: abbreviated or complete, baseline, progressive or lossless.
//!
//! YCbCr becomes RGB if and only if the image's photometric tag says YCbCr. Colour information in the stream itself
//! (Adobe's marker, names of components) is ignored, as in libtiff; but YCCK is rejected, which libtiff returns as
//! CMYK. Lossless streams return their components as stored. Sequential pictures are decoded by `sequential`;
//! progressive ones, and those whose sampling factors do not divide the largest, by a library that rounds and
//! interpolates differently.

mod bits;
mod coded;
mod codes;
pub(super) mod encode;
mod inverse;
mod lossless;
pub(super) mod old;
#[cfg(target_arch = "x86_64")]
mod rgb_wide;
mod sequential;
mod tables;
mod transform;
mod upsample;

pub(super) use sequential::Space;

use super::image_shape::{StatedShape, most_rows, with_whole_image};
use super::{StoredBlock, Workspace};
use coded::Coded;
use strile_codestream::jpeg::{self as jpeg_stream, Colours, Component, Frame};
use strile_engine::{BlockFault, BlockLayout, FaultKind};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Maximum number of scans of a progressive stream; each costs a pass over the whole image.
const MOST_SCANS: usize = 64;

/// Returns the working memory: samples of all components in whole data units, for all rows that a strip may hold, and
/// the coded bytes without stuffing.
pub(super) fn working_len(layout: &BlockLayout, rows: u32, encoded: u64) -> u64 {
    let padded = |len: u32| u64::from(len).next_multiple_of(8);
    let pixels = padded(layout.width).saturating_mul(padded(most_rows(layout, rows)));
    pixels.saturating_mul(layout.samples.into()).saturating_add(encoded)
}

/// Returns the memory that the library needs: coefficients of 16 bits of all components in whole units of the picture,
/// a whole image if the block keeps less, the stream with its tables, and row buffers.
fn library_memory(shape: StatedShape, frame: &Frame, kept: usize, encoded: usize) -> Result<u64, BlockFault> {
    let of = |factor: fn(&Component) -> u8| frame.components.iter().map(factor).max().unwrap_or(1).max(1);
    let padded = |len: u32, factor: u8| u64::from(len).next_multiple_of(8 * u64::from(factor));
    let (width, height) = (
        padded(shape.width, of(|component| component.sampling.0)),
        padded(shape.height, of(|component| component.sampling.1)),
    );
    let coefficients = width.saturating_mul(height).saturating_mul(2 * u64::from(shape.samples));
    let image = match shape.byte_len(1)? {
        len if len == kept => 0,
        len => len as u64,
    };
    let rows = width.saturating_mul(u64::from(shape.samples) * 512);
    Ok([image, 2 * encoded as u64, rows].into_iter().fold(coefficients, u64::saturating_add))
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let extras = &block.layout.extras;
    let colours = if extras.ycbcr.is_some() { Colours::YCbCr } else { Colours::AsStored };
    Stream { src, tables: extras.jpeg_tables.as_deref(), colours }.decode(dst, block, workspace)
}

/// A stream with its context.
#[derive(Clone, Copy)]
pub(super) struct Stream<'a> {
    /// Bytes from SOI on.
    pub(super) src: &'a [u8],
    /// Tables that the stream lacks.
    pub(super) tables: Option<&'a [u8]>,
    /// Meaning of three components.
    pub(super) colours: Colours,
}

impl Stream<'_> {
    pub(super) fn decode(
        self,
        dst: &mut [u8],
        block: StoredBlock<'_>,
        workspace: &mut Workspace,
    ) -> Result<(), BlockFault> {
        let frame = jpeg_stream::frame(self.src)?;
        match frame.marker {
            0xC0..=0xC2 => self.decode_lossy(dst, block, &frame, workspace),
            0xC3 => {
                let stop = workspace.crew.stop();
                lossless::decode((self.src, self.tables), dst, block, &frame, stop)
            }
            0xC9..=0xCB => Err(BlockFault::unsupported("arithmetic-coded JPEG")),
            other => Err(BlockFault::unsupported(format!("JPEG process of marker {other:#04X}"))),
        }
    }

    fn decode_lossy(
        self,
        dst: &mut [u8],
        block: StoredBlock<'_>,
        frame: &Frame,
        workspace: &mut Workspace,
    ) -> Result<(), BlockFault> {
        let shape = StatedShape {
            width: u32::from(frame.width),
            height: u32::from(frame.height),
            samples: u32::try_from(frame.components.len()).unwrap_or(u32::MAX),
            bits: u32::from(frame.precision),
        };
        shape.check(block)?;
        if frame.precision != 8 {
            return Err(BlockFault::unsupported(format!("lossy JPEG of {} bits", frame.precision)));
        }
        if frame.marker != 0xC2 && factors_divide(frame) {
            let picture = jpeg_stream::parse(self.src, self.tables, block, self.colours);
            let picture = picture.map_err(|fault| with_len(fault, dst.len()))?;
            let Workspace { jpeg, crew, .. } = workspace;
            return sequential::decode(self.src, &picture, dst, jpeg, crew.stop());
        }
        jpeg_stream::check_inks(self.src, frame, self.colours)?;
        // The decoder pads missing parts of the last rows, or leaves them as they were.
        let scans = jpeg_stream::check_scans(self.src, frame).map_err(|fault| with_len(fault, dst.len()))?;
        // The decoder also mistakes the data units of a component's own sequential scan for those of MCUs.
        if frame.marker != 0xC2 && scans > 1 {
            return Err(BlockFault::unsupported(
                "sequential JPEG of several scans with odd sampling factors",
            ));
        }
        let as_ycbcr = self.colours == Colours::YCbCr && shape.samples == 3;
        let (colours, out) = match shape.samples {
            1 => (Colours::AsStored, ColorSpace::Luma),
            3 if as_ycbcr => (Colours::YCbCr, ColorSpace::RGB),
            3 => (Colours::AsStored, ColorSpace::RGB),
            4 => (Colours::AsStored, ColorSpace::CMYK),
            other => return Err(BlockFault::unsupported(format!("JPEG of {other} components"))),
        };
        if as_ycbcr && frame.components.iter().map(|c| c.id).eq(*b"RGB") {
            return Err(BlockFault::unsupported("JPEG components named R, G and B in a YCbCr image"));
        }
        let need = library_memory(shape, frame, dst.len(), self.src.len())?;
        let counted = working_len(block.layout, block.rows, self.src.len() as u64);
        let _loan = workspace.lend(need, counted, "a progressive JPEG decoder")?;
        let stream = jpeg_stream::complete(self.src, self.tables, colours)?;
        let stop = workspace.crew.stop().clone();
        let options = DecoderOptions::default()
            .set_strict_mode(true)
            .set_max_width(usize::from(frame.width))
            .set_max_height(usize::from(frame.height))
            .jpeg_set_max_scans(MOST_SCANS)
            .jpeg_set_out_colorspace(out);
        let mut decoder = JpegDecoder::new_with_options(Coded::new(&stream, &stop), options);
        with_whole_image(dst, shape.byte_len(1)?, |whole| {
            decoder.decode_into(whole).map_err(|error| BlockFault::corrupt(format!("JPEG: {error:?}")))
        })?;
        stop.check()
    }
}

/// Returns whether every sampling factor divides the largest.
fn factors_divide(frame: &Frame) -> bool {
    let of = |factor: fn(&Component) -> u8| {
        let most = frame.components.iter().map(factor).max().unwrap_or(1);
        frame.components.iter().all(|component| most.is_multiple_of(factor(component)))
    };
    of(|component| component.sampling.0) && of(|component| component.sampling.1)
}

/// Adds the expected output length to a fault for truncated input.
fn with_len(fault: BlockFault, expected: usize) -> BlockFault {
    match fault.kind {
        FaultKind::InputTruncated => BlockFault::truncated(0, expected),
        _ => fault,
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers made here"
)]
mod tests {
    use super::super::testing::{
        decode_block, decode_rows, kept_memory_does_not_show, layout, mutants_fill_or_fault,
    };
    use strile_engine::{BlockLayout, FaultKind};
    use strile_tiff::{Compression, YCbCr};

    const YCBCR: &[u8] = include_bytes!("../../tests/data/ycbcr420.jpg");
    const RGB: &[u8] = include_bytes!("../../tests/data/rgb444.jpg");

    /// Returns the picture that was compressed: 24 x 16 pixels of slopes.
    fn slopes() -> Vec<u8> {
        (0..16_u32)
            .flat_map(|y| (0..24).flat_map(move |x| [x * 10, y * 15, 255 - x * 5 - y * 4].map(|v| v as u8)))
            .collect()
    }

    fn assert_close(found: &[u8], expected: &[u8], by: u8) {
        assert_eq!(found.len(), expected.len());
        let worst = found.iter().zip(expected).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(worst <= Some(by), "{worst:?}");
    }

    fn rgb_layout() -> BlockLayout {
        layout(Compression::Jpeg, (24, 16), (3, 8))
    }

    #[test]
    fn photometric_alone_decides_about_colours() {
        assert_close(&decode_block(RGB, &rgb_layout()).unwrap(), &slopes(), 6);
        let mut as_ycbcr = rgb_layout();
        as_ycbcr.extras.ycbcr = Some(YCbCr::default());
        assert_close(&decode_block(YCBCR, &as_ycbcr).unwrap(), &slopes(), 24);
        // The same stream without the tag stays YCbCr: its first band is luma.
        let stored = decode_block(YCBCR, &rgb_layout()).unwrap();
        let luma = slopes()
            .as_chunks()
            .0
            .iter()
            .map(|&[r, g, b]| (0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b)) as u8)
            .collect::<Vec<_>>();
        assert_close(&stored.iter().step_by(3).copied().collect::<Vec<_>>(), &luma, 6);
    }

    #[test]
    fn reads_grey_and_spare_rows() {
        let grey = include_bytes!("../../tests/data/gray.jpg");
        let layout = layout(Compression::Jpeg, (24, 16), (1, 8));
        let expected: Vec<u8> = slopes().into_iter().step_by(3).collect();
        assert_close(&decode_block(grey, &layout).unwrap(), &expected, 4);
        assert_close(&decode_rows(grey, &layout, 5).unwrap(), &expected[..24 * 5], 4);
    }

    #[test]
    fn pictures_of_one_thread_are_as_those_of_many() {
        let mut as_ycbcr = rgb_layout();
        as_ycbcr.extras.ycbcr = Some(YCbCr::default());
        let grey = include_bytes!("../../tests/data/gray.jpg").as_slice();
        let grey_layout = layout(Compression::Jpeg, (24, 16), (1, 8));
        kept_memory_does_not_show(&[(RGB, rgb_layout()), (grey, grey_layout), (YCBCR, as_ycbcr)]);
    }

    #[test]
    fn tables_may_be_apart() {
        // Move the stream's quantisation and Huffman tables to JPEGTables and keep the rest.
        let (mut tables, mut rest) = (vec![0xFF, 0xD8], vec![0xFF, 0xD8]);
        let mut at = 2;
        while RGB[at + 1] != 0xDA {
            let end = at + 2 + usize::from(u16::from_be_bytes([RGB[at + 2], RGB[at + 3]]));
            if matches!(RGB[at + 1], 0xDB | 0xC4) { &mut tables } else { &mut rest }.extend(&RGB[at..end]);
            at = end;
        }
        tables.extend([0xFF, 0xD9]);
        rest.extend(&RGB[at..]);
        assert!(decode_block(&rest, &rgb_layout()).is_err());
        let mut layout = rgb_layout();
        layout.extras.jpeg_tables = Some(tables.into());
        assert_eq!(decode_block(&rest, &layout).unwrap(), decode_block(RGB, &rgb_layout()).unwrap());
    }

    #[test]
    fn refuses_other_shapes_and_cut_streams() {
        let wrong = layout(Compression::Jpeg, (23, 16), (3, 8));
        assert_eq!(decode_block(RGB, &wrong).unwrap_err().kind, FaultKind::WrongShape);
        for len in 0..RGB.len() - 1 {
            assert!(decode_block(&RGB[..len], &rgb_layout()).is_err(), "{len}");
        }
        // A picture that states 62,500 data units but contains six.
        let at = RGB.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
        let mut large = RGB.to_vec();
        large[at + 5..at + 9].copy_from_slice(&[0x07, 0xD0, 0x07, 0xD0]);
        let fault = decode_block(&large, &layout(Compression::Jpeg, (2000, 2000), (3, 8))).unwrap_err();
        assert_eq!((fault.kind, fault.expected), (FaultKind::InputTruncated, 12_000_000));
        mutants_fill_or_fault(RGB, &rgb_layout(), 2000);
        mutants_fill_or_fault(YCBCR, &rgb_layout(), 2000);
    }
}
