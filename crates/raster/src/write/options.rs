//! Options of writing, and their defaults.

use crate::Processor;
use crate::options::{optional, setters};
use std::path::PathBuf;
use strile_engine::{Encoder, Location, Resampling};
use strile_tiff::{ByteOrder, Compression, LercWrapper, Planar, Predictor};

/// GPU libraries that encode, by their names in the CUDA engine.
const NVCOMP: &str = "nvcomp";
const NVJPEG2000: &str = "nvjpeg2000";

/// The order of blocks and directories in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Blocks in the order in which they are encoded, directories last.
    #[default]
    GeoTiff,
    /// Cloud-optimized: directories first, then overviews, then the full image.
    Cog,
}

/// When a file has 64-bit offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BigTiff {
    /// If the blocks may take more than 4 GiB.
    #[default]
    IfNeeded,
    /// If the blocks may take more than 2 GiB.
    IfSafer,
    /// Always.
    Yes,
    /// Never; a file that grows past 4 GiB is an error.
    No,
}

/// The predictor of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PredictorChoice {
    /// 3 for floats and 2 for integers of whole bytes, if the codec has predictors; none for palette indices.
    #[default]
    Auto,
    /// This one.
    Fixed(Predictor),
}

/// How an image is divided into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockChoice {
    /// Tiles of 512 × 512 pixels.
    #[default]
    Auto,
    /// Tiles; sides are multiples of 16.
    Tiles {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// Strips of this many rows; 0 for about 64 KiB each.
    Strips {
        /// Rows.
        rows: u32,
    },
}

/// Which overviews the file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overviews {
    /// None in a plain file. In a cloud-optimized one, halved until the image fits into one block.
    #[default]
    Auto,
    /// None.
    None,
    /// Halved until the image fits into one block.
    UntilOneBlock,
    /// This many, each half of the one above.
    Count(u32),
    /// The halvings whose bits are set; bit 0 is the image at half its size. The others are computed, because each is
    /// half of the previous one, but not stored. See [`Overviews::factors`].
    Halvings(u32),
}

impl Overviews {
    /// Returns the overviews that are smaller than the image by these factors: powers of two from 2 on, each larger
    /// than the one before.
    pub fn factors(factors: &[u32]) -> Option<Self> {
        let rise = factors.is_sorted_by(|one, next| one < next);
        let halve = factors.iter().all(|&factor| factor > 1 && factor.is_power_of_two());
        (rise && halve).then(|| Self::Halvings(factors.iter().fold(0, |bits, factor| bits | factor >> 1)))
    }

    /// Returns whether the image after this many halvings, at least one, is in the file.
    pub(crate) fn has(self, halvings: usize) -> bool {
        match self {
            Self::Halvings(bits) => {
                let bit = u32::try_from(halvings).ok().and_then(|halvings| halvings.checked_sub(1));
                bit.and_then(|bit| bits.checked_shr(bit)).is_some_and(|bits| bits & 1 == 1)
            }
            Self::Auto | Self::None | Self::UntilOneBlock | Self::Count(_) => true,
        }
    }
}

/// How overviews are stored if they differ from the image. `None` stores them as the image.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct OverviewStorage {
    /// Their codec, and the stream around LERC blobs.
    pub compression: Option<(Compression, LercWrapper)>,
    /// Their predictor.
    pub predictor: Option<PredictorChoice>,
    /// Their quality.
    pub quality: Option<u8>,
    /// Their largest error.
    pub max_error: Option<f64>,
}

impl OverviewStorage {
    /// Returns the options that store overviews like the image.
    pub fn new() -> Self {
        Self::default()
    }

    optional! {
        /// Sets the codec and the stream around LERC blobs.
        compression: (Compression, LercWrapper),
        /// Sets the predictor.
        predictor: PredictorChoice,
        /// Sets the quality.
        quality: u8,
        /// Sets the largest error.
        max_error: f64,
    }
}

/// Says how to write a file: its arrangement, codec, blocks, overviews and engine.
///
/// ```
/// use strile::write::{BlockChoice, Format};
/// use strile::{Compression, WriteOptions};
///
/// let options = WriteOptions::new()
///     .format(Format::Cog)
///     .compression(Compression::Zstd)
///     .level(9)
///     .blocks(BlockChoice::Tiles { width: 256, height: 256 });
/// assert_eq!(options.level, Some(9));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The arrangement of the file.
    pub format: Format,
    /// The codec.
    pub compression: Compression,
    /// The stream around LERC blobs.
    pub lerc: LercWrapper,
    /// Effort of the codec; `None` is its default (Deflate 6, ZSTD 9, LZMA 6).
    pub level: Option<i32>,
    /// JPEG and WebP: 1 to 100; JPEG 2000: 1 to 100 dB of signal to noise. `None` is 75.
    pub quality: Option<u8>,
    /// WebP and JPEG 2000: keep every bit. `None` keeps every bit unless a quality is given.
    pub lossless: Option<bool>,
    /// LERC: the largest change of a value.
    pub max_error: f64,
    /// The predictor.
    pub predictor: PredictorChoice,
    /// How the image is divided into blocks.
    pub blocks: BlockChoice,
    /// How samples are stored.
    pub planar: Planar,
    /// Order of bytes.
    pub byte_order: ByteOrder,
    /// Whether to omit blocks with nothing but nodata (0 if there is no nodata value).
    pub sparse: bool,
    /// When the file has 64-bit offsets.
    pub big_tiff: BigTiff,
    /// Stored bits of a sample, if fewer than its type has. A value that does not fit is an error.
    pub bits: Option<u16>,
    /// JPEG: store RGB as YCbCr with this subsampling of chroma. `None` stores it unchanged.
    pub ycbcr: Option<(u8, u8)>,
    /// Which overviews the file has.
    pub overviews: Overviews,
    /// How overviews are stored if they differ from the image.
    pub overview_storage: OverviewStorage,
    /// How overviews are computed. `None` is the average, or the nearest pixel for palettes and named categories.
    pub resampling: Option<Resampling>,
    /// Whether to write NaN as nodata, if nodata is a number. The caller's pixels are not changed.
    pub nan_to_nodata: bool,
    /// Whether to accept pieces in any order. Encoded blocks are kept in a temporary file.
    pub spooled: bool,
    /// The folder of the temporary file. `None` puts it beside the target.
    pub spool_dir: Option<PathBuf>,
    /// Memory limit in bytes of blocks being encoded, at the engine's location. On a GPU, this includes pixels, scratch
    /// and encoded bytes; on the CPU, waiting pixels other than those of incomplete blocks. At least one piece is
    /// allowed. `None` is 64 MiB on the CPU, 1 GiB on a GPU.
    pub buffer: Option<u64>,
    /// Whether to write the same bytes on every device.
    pub reproducible: bool,
    /// Compresses the image with nvCOMP on a GPU, with this effort (Deflate 0 to 5, ZSTD 0). Fails if nvCOMP cannot.
    /// Masks of one bit are compressed by strile's own encoders.
    pub nvcomp_effort: Option<u8>,
    /// Whether to encode JPEG 2000 with nvJPEG2000 on a GPU instead of strile's own encoder on the CPU. Fails if
    /// nvJPEG2000 cannot. The quality has the same unit, dB, but nvJPEG2000 may miss it slightly.
    pub nvjpeg2000: bool,
    /// The processor that encodes.
    pub encode_on: Processor,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            format: Format::default(),
            compression: Compression::Deflate,
            lerc: LercWrapper::None,
            level: None,
            quality: None,
            lossless: None,
            max_error: 0.0,
            predictor: PredictorChoice::default(),
            blocks: BlockChoice::default(),
            planar: Planar::Chunky,
            byte_order: ByteOrder::Little,
            sparse: false,
            big_tiff: BigTiff::default(),
            bits: None,
            ycbcr: None,
            overviews: Overviews::default(),
            overview_storage: OverviewStorage::default(),
            resampling: None,
            nan_to_nodata: false,
            spooled: false,
            spool_dir: None,
            buffer: None,
            reproducible: false,
            nvcomp_effort: None,
            nvjpeg2000: false,
            encode_on: Processor::Auto,
        }
    }
}

impl WriteOptions {
    /// Returns the defaults: a plain file of tiles, compressed by Deflate.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the arrangement of the file.
        format: Format,
        /// Sets the codec.
        compression: Compression,
        /// Sets the stream around LERC blobs.
        lerc: LercWrapper,
        /// Sets the largest change of a value by LERC.
        max_error: f64,
        /// Sets the predictor.
        predictor: PredictorChoice,
        /// Sets how the image is divided into blocks.
        blocks: BlockChoice,
        /// Stores the samples of a pixel together or each band separately.
        planar: Planar,
        /// Sets the byte order.
        byte_order: ByteOrder,
        /// Omits blocks with nothing but nodata.
        sparse: bool,
        /// Sets when the file has 64-bit offsets.
        big_tiff: BigTiff,
        /// Sets which overviews the file has.
        overviews: Overviews,
        /// Sets how overviews are stored if they differ from the image.
        overview_storage: OverviewStorage,
        /// Writes NaN as nodata.
        nan_to_nodata: bool,
        /// Accepts pieces in any order. Encoded blocks are kept in a temporary file.
        spooled: bool,
        /// Makes the bytes of the file independent of the engine.
        reproducible: bool,
        /// Encodes JPEG 2000 with nvJPEG2000 on a GPU.
        nvjpeg2000: bool,
        /// Sets the processor that encodes.
        encode_on: Processor,
    }

    optional! {
        /// Sets the effort of the codec.
        level: i32,
        /// Sets the quality of JPEG, WebP and JPEG 2000.
        quality: u8,
        /// Keeps every bit, or not (WebP, JPEG 2000).
        lossless: bool,
        /// Sets the stored bits of a sample.
        bits: u16,
        /// Stores RGB as YCbCr with this subsampling of chroma (JPEG).
        ycbcr: (u8, u8),
        /// Sets how overviews are computed.
        resampling: Resampling,
        /// Sets the folder of the temporary file.
        spool_dir: PathBuf,
        /// Limits the memory of blocks that are being encoded, in bytes.
        buffer: u64,
        /// Compresses with nvCOMP on a GPU, with this effort.
        nvcomp_effort: u8,
    }

    /// Returns the memory limit at the engine's location, in bytes.
    pub(crate) fn room(&self, place: Location) -> u64 {
        self.buffer.unwrap_or(match place {
            Location::Host => 64 << 20,
            Location::Cuda(_) => 1 << 30,
        })
    }

    /// Returns the encoders to use.
    pub(crate) fn encoder(&self) -> Encoder {
        match self.nvcomp_effort {
            Some(effort) => Encoder::Library { name: NVCOMP, effort },
            None if self.nvjpeg2000 => Encoder::Library { name: NVJPEG2000, effort: 0 },
            None if self.reproducible => Encoder::Portable,
            None => Encoder::Fast,
        }
    }

    /// Returns the options with which overviews are stored.
    pub(crate) fn for_overviews(&self) -> Self {
        let OverviewStorage { compression, predictor, quality, max_error } = self.overview_storage;
        let mut options = self.clone();
        if let Some((codec, lerc)) = compression
            && (codec, lerc) != (self.compression, self.lerc)
        {
            // Settings for another codec do not apply to this one.
            (options.compression, options.lerc) = (codec, lerc);
            (options.level, options.quality, options.lossless, options.max_error) = (None, None, None, 0.0);
            options.predictor = PredictorChoice::Auto;
            options.ycbcr = None;
        }
        options.predictor = predictor.unwrap_or(options.predictor);
        options.quality = quality.or(options.quality);
        if quality.is_some() {
            options.lossless = None;
        }
        options.max_error = max_error.unwrap_or(options.max_error);
        options
    }
}
