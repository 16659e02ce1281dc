//! Encoders for fixtures: from one block of samples to the bytes in a file.
//!
//! They prefer variety for decoders over small output. Codecs without a light encoder crate use streams made elsewhere
//! (`Codec::Streams`, see `data/README.md`).

mod bytes;
mod fax;
mod images;

use crate::pack::BlockPixels;
use crate::tag::{Tag, Value};
use strile_tiff::{ByteOrder, Compression, LercWrapper, Predictor};

/// A way to encode blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Codec {
    /// Uncompressed.
    None,
    /// PackBits, rows separate.
    PackBits,
    /// LZW with TIFF's early change.
    Lzw,
    /// LZW of the other bit order, as written before libtiff 3.5.
    OldLzw,
    /// zlib, as compression 8.
    Deflate,
    /// zlib, as compression 32946.
    OldDeflate,
    /// One frame that states its size.
    Zstd,
    /// A skippable frame, then two frames of half the block each.
    ZstdFrames,
    /// An LZ4 frame.
    Lz4,
    /// An XZ stream.
    Lzma,
    /// LERC, lossless or within an error.
    Lerc {
        /// Wrapper of the blob.
        wrapper: LercWrapper,
        /// Largest error; 0 is lossless.
        max_error: f64,
    },
    /// Baseline or progressive JPEG.
    Jpeg(JpegOptions),
    /// Lossless WebP.
    WebP,
    /// PNG.
    Png,
    /// Lossless JPEG XL; the number is the value of tag Compression.
    JpegXl(u16),
    /// Modified Huffman, rows aligned to bytes.
    CcittRle,
    /// Modified Huffman, rows aligned to words.
    CcittRleWord,
    /// Group 3.
    CcittGroup3 {
        /// Whether every second row is coded relative to the one above.
        two_dimensional: bool,
        /// Whether EOL codes end at bytes.
        byte_aligned: bool,
    },
    /// Group 4.
    CcittGroup4,
    /// NeXT, rows as literals.
    Next,
    /// ThunderScan, every pixel as a raw value.
    ThunderScan,
    /// Streams made elsewhere, one per block.
    Streams {
        /// Tag Compression.
        code: u16,
        /// Matching PhotometricInterpretation.
        photometric: Option<u16>,
        /// Additional tags.
        tags: Vec<Tag>,
        /// One stream per block.
        blocks: Vec<Vec<u8>>,
    },
}

/// Options of JPEG blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JpegOptions {
    /// 1 to 100.
    pub quality: u8,
    /// Chroma subsampling; `None` keeps three samples as RGB without a colour transform.
    pub chroma: Option<(u8, u8)>,
    /// Tables in tag JPEGTables instead of in every stream.
    pub shared_tables: bool,
    /// Progressive instead of baseline.
    pub progressive: bool,
}

impl Codec {
    /// Returns the value of tag Compression.
    pub fn code(&self) -> u16 {
        use Compression as C;
        let compression = match self {
            Self::None => C::None,
            Self::PackBits => C::PackBits,
            Self::Lzw | Self::OldLzw => C::Lzw,
            Self::Deflate => C::Deflate,
            Self::OldDeflate => return 32946,
            Self::Zstd | Self::ZstdFrames => C::Zstd,
            Self::Lz4 => C::Lz4,
            Self::Lzma => C::Lzma,
            Self::Lerc { .. } => C::Lerc,
            Self::Jpeg(_) => C::Jpeg,
            Self::WebP => C::WebP,
            Self::Png => C::Png,
            Self::JpegXl(code) | Self::Streams { code, .. } => return *code,
            Self::CcittRle => C::CcittRle,
            Self::CcittRleWord => C::CcittRleWord,
            Self::CcittGroup3 { .. } => C::CcittGroup3,
            Self::CcittGroup4 => C::CcittGroup4,
            Self::Next => C::Next,
            Self::ThunderScan => C::ThunderScan,
        };
        compression.codes()[0]
    }

    /// Returns the photometric interpretation that the codec requires.
    pub fn photometric(&self, samples: usize) -> Option<u16> {
        match self {
            Self::Jpeg(JpegOptions { chroma: Some(_), .. }) if samples == 3 => Some(6),
            Self::WebP => Some(2),
            Self::CcittRle | Self::CcittRleWord | Self::CcittGroup3 { .. } | Self::CcittGroup4 => Some(0),
            Self::Streams { photometric, .. } => *photometric,
            _ => None,
        }
    }

    /// Returns the tags that the codec adds.
    pub fn tags(&self, first: &BlockPixels) -> Vec<Tag> {
        match self {
            Self::Lerc { wrapper, .. } => {
                let wrapper = match wrapper {
                    LercWrapper::None => 0,
                    LercWrapper::Deflate => 1,
                    LercWrapper::Zstd => 2,
                };
                vec![Tag::new(50674, Value::Long(vec![4, wrapper]))]
            }
            Self::Jpeg(options) => {
                let mut tags = Vec::new();
                if options.shared_tables {
                    let (tables, _) = images::split_jpeg(&images::jpeg(first, options));
                    tags.push(Tag::new(347, Value::Undefined(tables)));
                }
                if let (Some((h, v)), 3) = (options.chroma, first.samples) {
                    tags.push(Tag::new(530, Value::Short(vec![h.into(), v.into()])));
                    let black_white = [0, 255, 128, 255, 128, 255].map(|n| (n, 1));
                    tags.push(Tag::new(532, Value::Rational(black_white.to_vec())));
                }
                tags
            }
            Self::CcittGroup3 { two_dimensional, byte_aligned } => {
                vec![Tag::long(292, u32::from(*two_dimensional) | (u32::from(*byte_aligned) << 2))]
            }
            Self::CcittGroup4 => vec![Tag::long(293, 0)],
            Self::Streams { tags, .. } => tags.clone(),
            _ => Vec::new(),
        }
    }

    /// Encodes one block as in the file (before FillOrder).
    pub fn encode(
        &self,
        block: &BlockPixels,
        order: ByteOrder,
        predictor: Predictor,
        index: usize,
    ) -> Vec<u8> {
        let packed = || block.pack(order, predictor);
        match self {
            Self::None => packed(),
            Self::PackBits => bytes::packbits(&packed(), block.rows),
            Self::Lzw => bytes::lzw(&packed()),
            Self::OldLzw => bytes::old_lzw(&packed()),
            Self::Deflate | Self::OldDeflate => bytes::zlib(&packed()),
            Self::Zstd => bytes::zstd(&packed()),
            Self::ZstdFrames => bytes::zstd_frames(&packed()),
            Self::Lz4 => bytes::lz4_frame(&packed()),
            Self::Lzma => bytes::xz(&packed()),
            Self::Lerc { wrapper, max_error } => {
                let blob = images::lerc(block, order, *max_error);
                match wrapper {
                    LercWrapper::None => blob,
                    LercWrapper::Deflate => bytes::zlib(&blob),
                    LercWrapper::Zstd => bytes::zstd(&blob),
                }
            }
            Self::Jpeg(options) => {
                let stream = images::jpeg(block, options);
                if options.shared_tables { images::split_jpeg(&stream).1 } else { stream }
            }
            Self::WebP => images::webp(block),
            Self::Png => images::png(block),
            Self::JpegXl(_) => images::jpegxl(block),
            Self::CcittRle => fax::huffman(&packed(), block.width, 8),
            Self::CcittRleWord => fax::huffman(&packed(), block.width, 16),
            Self::CcittGroup3 { two_dimensional, byte_aligned } => {
                fax::group3(&packed(), block.width, *two_dimensional, *byte_aligned)
            }
            Self::CcittGroup4 => fax::group4(&packed(), block.width),
            Self::Next => bytes::next(&packed(), block.rows),
            Self::ThunderScan => bytes::thunderscan(&block.bytes),
            Self::Streams { blocks, .. } => blocks[index].clone(),
        }
    }
}
