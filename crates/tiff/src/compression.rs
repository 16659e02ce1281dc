//! The compressions of TIFF files, and the predictors.
//!
//! One table has tag value, name and variant. `from_code` returns `None` for other values, and the caller reports the
//! number.

macro_rules! compressions {
    ($($(#[$doc:meta])* $variant:ident = [$($code:literal),+] $name:literal;)+) => {
        /// How blocks are compressed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Compression { $($(#[$doc])* $variant,)+ }

        impl Compression {
            /// All compressions of the table.
            pub const ALL: &'static [Compression] = &[$(Self::$variant,)+];
            /// Returns the compression of a tag value.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($($code)|+ => Some(Self::$variant),)+ _ => None }
            }
            /// Returns the tag values of this compression, the one to write first.
            pub const fn codes(self) -> &'static [u16] {
                match self { $(Self::$variant => &[$($code),+],)+ }
            }
            /// Returns the usual name, as in GDAL and libtiff, in lower case.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

compressions! {
    /// Uncompressed samples, rows padded to bytes.
    None = [1] "none";
    /// CCITT modified Huffman, rows byte-aligned.
    CcittRle = [2] "ccittrle";
    /// CCITT modified Huffman, rows word-aligned.
    CcittRleWord = [32771] "ccittrlew";
    /// CCITT T.4, one- or two-dimensional.
    CcittGroup3 = [3] "ccittfax3";
    /// CCITT T.6.
    CcittGroup4 = [4] "ccittfax4";
    /// LZW, in either bit order. The stream itself identifies the old one.
    Lzw = [5] "lzw";
    /// JPEG of TIFF 6.0, withdrawn since.
    OldJpeg = [6] "ojpeg";
    /// JPEG as defined by Technical Note 2, including lossless JPEG.
    Jpeg = [7, 34892] "jpeg";
    /// zlib-framed Deflate.
    Deflate = [8, 32946] "deflate";
    /// NeXT 2-bit grey.
    Next = [32766] "next";
    /// Macintosh run lengths.
    PackBits = [32773] "packbits";
    /// ThunderScan 4-bit grey.
    ThunderScan = [32809] "thunderscan";
    /// SGI LogL or LogLuv, run-length coded.
    SgiLog = [34676] "sgilog";
    /// SGI LogLuv, 24 bits packed.
    SgiLog24 = [34677] "sgilog24";
    /// JPEG 2000 codestream or JP2 file.
    Jpeg2000 = [34712] "jpeg2000";
    /// JPEG 2000, Aperio, YCbCr.
    Jpeg2000YCbCr = [33003] "jpeg2000-ycbcr";
    /// JPEG 2000, Aperio, RGB.
    Jpeg2000Rgb = [33005] "jpeg2000-rgb";
    /// Limited Error Raster Compression, alone or inside Deflate or ZSTD.
    Lerc = [34887] "lerc";
    /// XZ streams.
    Lzma = [34925] "lzma";
    /// PNG datastreams.
    Png = [34933] "png";
    /// JPEG XR.
    JpegXr = [34934, 22610] "jpegxr";
    /// Zstandard frames.
    Zstd = [50000] "zstd";
    /// WebP, lossy or lossless.
    WebP = [50001] "webp";
    /// JPEG XL.
    JpegXl = [50002, 52546] "jxl";
    /// LZ4 frames or blocks.
    Lz4 = [50004] "lz4";
}

impl Compression {
    /// Returns whether blocks are JPEG 2000 streams.
    pub const fn is_jpeg2000(self) -> bool {
        matches!(self, Self::Jpeg2000 | Self::Jpeg2000YCbCr | Self::Jpeg2000Rgb)
    }
}

/// Transformation of samples before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Predictor {
    /// None.
    None,
    /// Difference of each sample to the previous one (2).
    Horizontal,
    /// Bytes of floats ordered by significance, then differenced (3).
    FloatingPoint,
}

/// The codec around a LERC blob (tag LercParameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LercWrapper {
    /// None: the blob itself.
    None,
    /// zlib.
    Deflate,
    /// Zstandard.
    Zstd,
}
