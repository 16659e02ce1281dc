//! Storage of a block (`BlockLayout`) and destination of its pixels (`Placement`).
//!
//! A layout is checked when its image is opened; engines trust it. All sizes derived from it use checked arithmetic,
//! because a layout can describe blocks larger than any memory.

use std::sync::Arc;
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType, YCbCr,
};

/// Everything needed to turn the bytes of a block of one image into samples.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockLayout {
    /// Columns.
    pub width: u32,
    /// Rows of a full block; the last strip of an image may have fewer.
    pub height: u32,
    /// Samples interleaved in the block: 1 if planes are separate.
    pub samples: u16,
    /// Stored sample format.
    pub sample: SampleType,
    /// Bits of each interleaved sample if they differ (5-6-5); `sample.bits` is then the largest.
    pub mixed_bits: Option<Arc<[u16]>>,
    /// Sample type in memory; always `sample.data_type()`.
    pub data_type: DataType,
    /// Byte order of stored samples.
    pub byte_order: ByteOrder,
    /// FillOrder 2: the bits of every stored byte are reversed.
    pub reverse_bits: bool,
    /// Codec.
    pub compression: Compression,
    /// Predictor that was applied before compression.
    pub predictor: Predictor,
    /// Whether the block is a strip. Strips may end early, and a last strip may hold all its rows; tiles are always
    /// complete.
    pub is_strip: bool,
    /// Additional facts that some codecs need.
    pub extras: CodecExtras,
}

/// Facts that only some codecs read.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecExtras {
    /// Photometric interpretation.
    pub photometric: Photometric,
    /// Set if photometric is YCbCr and the planes are interleaved: the block is returned as RGB.
    pub ycbcr: Option<YCbCr>,
    /// Tag JPEGTables.
    pub jpeg_tables: Option<Arc<[u8]>>,
    /// Compression around a LERC blob.
    pub lerc: LercWrapper,
    /// Tag T4Options or T6Options.
    pub fax_options: u32,
    /// Value of missing blocks, faulty blocks and masked pixels: the image's nodata value, or 0.
    pub fill: Fill,
    /// Wavelet levels of JPEG 2000 streams to skip; 0 for other codecs. The sizes in the layout are the reduced ones:
    /// the stored sizes divided by two to this power, rounded up.
    pub reduce: u8,
}

/// One sample in memory, in native byte order, in the first `DataType::size` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill(pub [u8; 16]);

/// Form of a codec's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedForm {
    /// Rows padded to whole bytes, in file byte order, predictor still applied.
    Packed,
    /// Samples of `data_type` in native byte order, without predictor.
    Samples,
}

impl BlockLayout {
    /// Returns the layout of blocks that hold samples as in memory, pixel by pixel. It lets decoded pixels be placed by
    /// an ordinary job.
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

    /// Returns the form of the codec's output.
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

    /// Returns whether the codec's output is Y, Cb and Cr in units of subsampled chroma, to be converted to RGB.
    pub fn has_chroma_units(&self) -> bool {
        self.extras.ycbcr.is_some() && self.decoded_form() == DecodedForm::Packed
    }

    /// Returns the bits of one packed pixel.
    pub fn pixel_bits(&self) -> u64 {
        match &self.mixed_bits {
            Some(bits) => bits.iter().map(|&b| u64::from(b)).sum(),
            None => u64::from(self.samples) * u64::from(self.sample.bits),
        }
    }

    /// Returns the bytes of one packed row, or of one row of chroma units; `None` if they exceed the address space.
    pub fn packed_row_len(&self) -> Option<usize> {
        if let (true, Some(ycbcr)) = (self.has_chroma_units(), self.extras.ycbcr) {
            let (h, v) = (u64::from(ycbcr.subsampling.0), u64::from(ycbcr.subsampling.1));
            let units = u64::from(self.width).div_ceil(h);
            return usize::try_from(units.checked_mul(h * v + 2)?).ok();
        }
        usize::try_from(u64::from(self.width).checked_mul(self.pixel_bits())?.div_ceil(8)).ok()
    }

    /// Returns the bytes that the codec must produce for a block of `rows` rows.
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

    /// Returns the bytes of `rows` rows as samples in memory.
    pub fn samples_len(&self, rows: u32) -> Option<usize> {
        let pixels = usize::try_from(u64::from(self.width).checked_mul(u64::from(rows))?).ok()?;
        pixels.checked_mul(usize::from(self.samples))?.checked_mul(self.data_type.size())
    }
}

/// A byte range of a source or of a staged arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes, never 0 in a task.
    pub len: u64,
}

impl Span {
    /// Returns the offset after the last byte, or `None` past 2^64.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// Identifies a block, for messages and ordering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockAddress {
    /// Level: 0 is the full image, k the k-th overview.
    pub level: u32,
    /// Row of blocks from the top.
    pub row: u32,
    /// Column of blocks from the left.
    pub column: u32,
    /// Plane if planes are separate, else 0.
    pub plane: u32,
}

/// The requested part of a block and its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Rows stored in the block.
    pub rows: u32,
    /// Rows of the block inside the image; some writers store only these in their last tiles.
    pub image_rows: u32,
    /// First requested column of the block.
    pub block_x: u32,
    /// First requested row of the block.
    pub block_y: u32,
    /// Requested columns, at least 1.
    pub width: u32,
    /// Requested rows, at least 1.
    pub height: u32,
    /// Output column of the first requested pixel.
    pub out_x: u32,
    /// Output row of the first requested row.
    pub out_y: u32,
    /// Output band of the first selected sample.
    pub first_band: u32,
}
