//! How a block is stored (`BlockLayout`) and where its pixels go (`Placement`).
//!
//! A layout is a fact of an image, checked when the image was opened; engines trust it. All sizes derived
//! here are checked, because a layout can describe blocks larger than any memory.

use std::sync::Arc;
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType, YCbCr,
};

/// Everything needed to turn the bytes of a block of one image into samples.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockLayout {
    /// Pixels across.
    pub width: u32,
    /// Pixels down of a full block; the last strip of an image may have fewer.
    pub height: u32,
    /// Samples interleaved in the block: 1 where planes are separate.
    pub samples: u16,
    /// The stored sample.
    pub sample: SampleType,
    /// Depth of each interleaved sample where they differ (5-6-5); `sample.bits` is then the largest.
    pub mixed_bits: Option<Arc<[u16]>>,
    /// Its type in memory; always `sample.data_type()`.
    pub data_type: DataType,
    /// Order of the bytes of a stored sample.
    pub byte_order: ByteOrder,
    /// FillOrder 2: the bits of every stored byte are reversed.
    pub reverse_bits: bool,
    /// The codec.
    pub compression: Compression,
    /// What was done before compressing.
    pub predictor: Predictor,
    /// Strips may end early, and a last strip may hold all its rows; tiles are always whole.
    pub is_strip: bool,
    /// What some codecs need besides.
    pub extras: CodecExtras,
}

/// Facts that only some codecs read.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecExtras {
    /// Meaning of the samples.
    pub photometric: Photometric,
    /// Present where photometric is YCbCr and the planes are interleaved: the block is given as RGB.
    pub ycbcr: Option<YCbCr>,
    /// Tag JPEGTables.
    pub jpeg_tables: Option<Arc<[u8]>>,
    /// The stream around a LERC blob.
    pub lerc: LercWrapper,
    /// Tag T4Options or T6Options.
    pub fax_options: u32,
    /// What missing and faulty blocks and masked-out pixels become: the image's nodata, else 0.
    pub fill: Fill,
    /// Wavelet levels of JPEG 2000 streams that are left out; 0 for all other codecs. The layout's sizes are those that
    /// are left: of the stored ones divided by two to this power, rounded up.
    pub reduce: u8,
}

/// One sample in memory, native byte order; the first `DataType::size` bytes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill(pub [u8; 16]);

/// What a codec leaves in its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedForm {
    /// Rows padded to whole bytes, file byte order, predictor still applied.
    Packed,
    /// Samples of `data_type` in native byte order, no predictor.
    Samples,
}

impl BlockLayout {
    /// Blocks of samples as they are in memory, pixel by pixel: with them decoded pixels are a job like any other, and
    /// whoever takes them places them as it places any block.
    pub fn stored(data_type: DataType, (width, height): (u32, u32), samples: u16) -> Self {
        use DataType as D;
        let format = match data_type {
            D::U8 | D::U16 | D::U32 | D::U64 => SampleFormat::Uint,
            D::I8 | D::I16 | D::I32 | D::I64 => SampleFormat::Int,
            D::F16 | D::F32 | D::F64 => SampleFormat::Float,
            D::C64 | D::C128 => SampleFormat::ComplexFloat,
        };
        let bits = u16::try_from(data_type.size() * 8).unwrap_or(u16::MAX);
        Self {
            width,
            height,
            samples,
            sample: SampleType { format, bits },
            mixed_bits: None,
            data_type,
            byte_order: ByteOrder::NATIVE,
            reverse_bits: false,
            compression: Compression::None,
            predictor: Predictor::None,
            is_strip: true,
            extras: CodecExtras {
                photometric: Photometric::MinIsBlack,
                ycbcr: None,
                jpeg_tables: None,
                lerc: LercWrapper::None,
                fax_options: 0,
                fill: Fill::default(),
                reduce: 0,
            },
        }
    }

    /// What the layout's codec leaves in its output.
    pub fn decoded_form(&self) -> DecodedForm {
        use Compression as C;
        match self.compression {
            C::None
            | C::PackBits
            | C::Lzw
            | C::Deflate
            | C::Zstd
            | C::Lz4
            | C::Lzma
            | C::CcittRle
            | C::CcittRleWord
            | C::CcittGroup3
            | C::CcittGroup4
            | C::Next
            | C::ThunderScan => DecodedForm::Packed,
            C::OldJpeg
            | C::Jpeg
            | C::SgiLog
            | C::SgiLog24
            | C::Jpeg2000
            | C::Jpeg2000YCbCr
            | C::Jpeg2000Rgb
            | C::Lerc
            | C::Png
            | C::JpegXr
            | C::WebP
            | C::JpegXl => DecodedForm::Samples,
        }
    }

    /// True where the codec leaves Y, Cb and Cr in units of subsampled chroma that become RGB afterwards.
    pub fn has_chroma_units(&self) -> bool {
        self.extras.ycbcr.is_some() && self.decoded_form() == DecodedForm::Packed
    }

    /// Bits of one pixel as packed.
    pub fn pixel_bits(&self) -> u64 {
        match &self.mixed_bits {
            Some(bits) => bits.iter().map(|&b| u64::from(b)).sum(),
            None => u64::from(self.samples) * u64::from(self.sample.bits),
        }
    }

    /// Bytes of one packed row, or of one row of chroma units; `None` past what memory can address.
    pub fn packed_row_len(&self) -> Option<usize> {
        if let (true, Some(ycbcr)) = (self.has_chroma_units(), self.extras.ycbcr) {
            let (h, v) = (u64::from(ycbcr.subsampling.0), u64::from(ycbcr.subsampling.1));
            let units = u64::from(self.width).div_ceil(h);
            return usize::try_from(units.checked_mul(h * v + 2)?).ok();
        }
        usize::try_from(u64::from(self.width).checked_mul(self.pixel_bits())?.div_ceil(8)).ok()
    }

    /// Bytes the codec must produce for a block of `rows` rows.
    pub fn decoded_len(&self, rows: u32) -> Option<usize> {
        match self.decoded_form() {
            DecodedForm::Samples => self.samples_len(rows),
            DecodedForm::Packed => {
                let rows = match (self.has_chroma_units(), self.extras.ycbcr) {
                    (true, Some(ycbcr)) => rows.div_ceil(u32::from(ycbcr.subsampling.1)),
                    _ => rows,
                };
                self.packed_row_len()?.checked_mul(usize::try_from(rows).ok()?)
            }
        }
    }

    /// Bytes of `rows` rows as samples in memory.
    pub fn samples_len(&self, rows: u32) -> Option<usize> {
        let pixels = usize::try_from(u64::from(self.width).checked_mul(u64::from(rows))?).ok()?;
        pixels.checked_mul(usize::from(self.samples))?.checked_mul(self.data_type.size())
    }
}

/// Bytes of a source or of a staged arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes, never 0 in a task.
    pub len: u64,
}

impl Span {
    /// The byte after the last, or `None` past 2^64.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// Which block it is, for messages and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockAddress {
    /// 0 the full image, k the k-th overview.
    pub level: u32,
    /// Row of blocks from the top.
    pub row: u32,
    /// Column of blocks from the left.
    pub column: u32,
    /// Plane where planes are separate, else 0.
    pub plane: u32,
}

/// The part of a block that is wanted and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Rows stored in the block.
    pub rows: u32,
    /// Rows of the block that lie in the image; some writers store no more than these in their last tiles.
    pub image_rows: u32,
    /// First wanted pixel of the block.
    pub block_x: u32,
    /// First wanted row of the block.
    pub block_y: u32,
    /// Wanted pixels across, at least 1.
    pub width: u32,
    /// Wanted rows, at least 1.
    pub height: u32,
    /// Column of the output for the first wanted pixel.
    pub out_x: u32,
    /// Row of the output for the first wanted row.
    pub out_y: u32,
    /// Band of the output for the first selected sample.
    pub first_band: u32,
}
