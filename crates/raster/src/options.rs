//! What can be chosen when reading, and every default.

use crate::Window;
use crate::cache::Cache;
use crate::grid::{Grid, Onto, WarpOptions};
use std::sync::Arc;
use strile_tiff::InvalidValue;
use strile_tiff::gdal::NoData;

/// Makes setters of fields that are `None` by default.
macro_rules! limits {
    ($($(#[$doc:meta])+ $field:ident: $type:ty,)+) => {
        $(
            $(#[$doc])+
            #[must_use]
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = Some($field);
                self
            }
        )+
    };
}

pub(crate) use limits;
pub(crate) use strile_engine::setters;

/// Which processor does the work: `decode_on` of a read, `encode_on` of a write. Where a result lives is a [`Location`].
///
/// [`Location`]: crate::Location
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Processor {
    /// The plan chooses. A read into the memory of a GPU is decoded by that GPU, other reads by the processor with the lower
    /// estimate. Writes are encoded by the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// This CUDA device and no other.
    Cuda(u32),
}

impl std::str::FromStr for Processor {
    type Err = InvalidValue;

    /// Reads `auto`, `cpu`, `cuda` (the first CUDA device) or `cuda:N`.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let index = text.strip_prefix("cuda:").and_then(|index| index.parse().ok());
                index
                    .map(Self::Cuda)
                    .ok_or_else(|| format!("expected auto, cpu, cuda or cuda:N, got `{text}`").into())
            }
        }
    }
}

/// What to do with faulty blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFault {
    /// The read fails and names the lowest.
    #[default]
    Fail,
    /// They are filled with nodata, else 0, and listed.
    Fill,
}

/// What of an image is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer {
    /// Its pixels.
    #[default]
    Pixels,
    /// Its mask, as 0 and 255.
    Mask,
}

/// How bands lie in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interleave {
    /// Band by band: (band, row, column).
    #[default]
    BandFirst,
    /// Pixel by pixel: (row, column, band).
    BandLast,
}

/// Types of samples that were masked or unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatType {
    /// 16 bits, rounded to the nearest, beyond 65504 infinite.
    Float16,
    /// 32 bits.
    Float32,
    /// 64 bits.
    Float64,
}

/// What to read, and how. All fields have defaults; setters change them.
///
/// ```
/// use strile::{ReadOptions, Window};
///
/// let options = ReadOptions::new().level(1).window(Window::new(0, 0, 256, 256)).bands([3, 2, 1]);
/// assert_eq!(options.level, 1);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Page of the file, from 0.
    pub page: usize,
    /// Resolution level: 0 is full resolution, 1 the largest overview.
    pub level: usize,
    /// How many times that level is halved while it is decoded, by leaving out wavelet levels: of JPEG 2000 alone, whose
    /// blocks hold lower resolutions. The result is as large as the level divided by two to this power, rounded up. An
    /// error where blocks would not meet, and a fault where a stream has fewer levels.
    pub reduce: u8,
    /// In pixels of that level, halved as said; `None` all of it. Of a read onto a grid in pixels of the grid.
    pub window: Option<Window>,
    /// The grid that pixels are read onto; `None` reads the file's own pixels.
    pub onto: Option<Arc<Onto>>,
    /// Bands from 1, in the order wanted; `None` all.
    pub bands: Option<Vec<u16>>,
    /// Pixels or mask.
    pub layer: Layer,
    /// How bands lie in the result.
    pub interleave: Interleave,
    /// Faulty blocks fail the read unless told otherwise.
    pub on_fault: OnFault,
    /// Turn the result as tag Orientation says; stored order otherwise.
    pub apply_orientation: bool,
    /// Invert images whose 0 is white; stored values otherwise.
    pub invert_min_is_white: bool,
    /// Pixels that hold the nodata value become NaN: the result is `float32` where that holds every stored value (up to
    /// 16 bits, and floats of 32), else `float64`. Without a nodata value the mask image says which pixels are
    /// missing, else alpha; without any of them nothing changes. A VRT without nodata, but with a mask band or alpha, is
    /// refused.
    pub masked: bool,
    /// The same, and all others become stored × scale + offset by GDAL's scale and offset, which must be one for all
    /// bands read. Without any of these nothing changes.
    pub unpack: bool,
    /// The type that `masked` and `unpack` give, where they change anything; `None` leaves it to the stored type, as
    /// said there.
    pub float_type: Option<FloatType>,
    /// A value that is looked for while pixels are read, such as nodata: whether it was found is `found` of the
    /// [report](crate::Pixels::report). It is compared with stored values in all bands, or with NaN where `masked` or `unpack` made
    /// missing pixels NaN. Nothing is looked for, and `found` is `None`, where pixels change after they were decoded: where a
    /// mask image or alpha says what is missing, in batches that are resampled, and in reads onto a grid.
    pub look_for: Option<NoData>,
    /// The most samples (width × height × bands) of the result. `None` refuses only what is implausible: results beyond
    /// 1 GB that are more than 1024 times larger than their file, and blocks beyond 256 MiB that are, or that are mostly
    /// padding. A number replaces this rule: it refuses larger results, and allows any that are not.
    pub max_pixels: Option<u64>,
    /// The most bytes of a compressed block once decoded; `None` leaves that to `max_pixels`.
    pub max_block_bytes: Option<u64>,
    /// The most bytes that are fetched from a source that is not local; `None` for any number.
    pub max_cloud_bytes: Option<u64>,
    /// Whether blocks are taken from the cache of the process and kept there; see [`cache`](crate::cache).
    pub cache: Cache,
    /// Who decodes. Where the result lives is for the function to say: `read` returns host memory, `read_on_device` that of a
    /// GPU.
    pub decode_on: Processor,
    /// Bytes that strile may take of the GPU's memory, in this process and from now on; `None` leaves the limit as
    /// it is, at first 90 % of what was free.
    pub device_memory: Option<u64>,
    /// Whether a GPU reads local files by cuFile straight into its memory.
    pub direct_io: DirectIo,
    /// Whether a GPU decodes by nvCOMP, which takes trust in the file.
    pub nvcomp: Nvcomp,
}

impl ReadOptions {
    /// Returns the options that read all of the first page at full resolution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads these bands, from 1, in this order.
    #[must_use]
    pub fn bands(mut self, bands: impl IntoIterator<Item = u16>) -> Self {
        self.bands = Some(bands.into_iter().collect());
        self
    }

    /// Reads this window, in pixels of the level; `None` is all of it.
    #[must_use]
    pub fn window(mut self, window: impl Into<Option<Window>>) -> Self {
        self.window = window.into();
        self
    }

    /// Reads onto a grid: pixels of another size, place or reference system. See [`grid`](crate::grid).
    ///
    /// The level of the file is chosen by [`WarpOptions::level`]; `level` and `reduce` stay 0. Missing pixels are those that
    /// no pixel of the file lies under, and those that nodata, a mask or alpha says are missing.
    #[must_use]
    pub fn onto(mut self, grid: Grid, warp: WarpOptions) -> Self {
        self.onto = Some(Arc::new(Onto { grid, warp }));
        self
    }

    /// Sets the type that `masked` and `unpack` give; `None` leaves it to the stored type.
    #[must_use]
    pub fn float_type(mut self, float_type: impl Into<Option<FloatType>>) -> Self {
        self.float_type = float_type.into();
        self
    }

    setters! {
        /// Reads this page, from 0.
        page: usize,
        /// Reads this resolution level, 0 is full resolution.
        level: usize,
        /// Halves JPEG 2000 so many times while it is decoded.
        reduce: u8,
        /// Reads pixels or the mask.
        layer: Layer,
        /// Sets how bands lie in the result.
        interleave: Interleave,
        /// Sets what becomes of faulty blocks.
        on_fault: OnFault,
        /// Turns the result as tag Orientation says.
        apply_orientation: bool,
        /// Inverts images whose 0 is white.
        invert_min_is_white: bool,
        /// Makes missing pixels NaN.
        masked: bool,
        /// Makes missing pixels NaN, and applies scale and offset.
        unpack: bool,
        /// Sets whether blocks are taken from the cache of the process and kept there.
        cache: Cache,
        /// Sets who decodes.
        decode_on: Processor,
        /// Sets whether a GPU reads local files by cuFile.
        direct_io: DirectIo,
        /// Sets whether a GPU decodes by nvCOMP.
        nvcomp: Nvcomp,
    }

    limits! {
        /// Looks for a value while pixels are read.
        look_for: NoData,
        /// Limits the samples of the result.
        max_pixels: u64,
        /// Limits the bytes of a compressed block once decoded.
        max_block_bytes: u64,
        /// Limits the bytes that are fetched from a source that is not local.
        max_cloud_bytes: u64,
        /// Limits the memory of the GPU, for the whole process.
        device_memory: u64,
    }
}

/// Whether a GPU reads local files by cuFile (GPUDirect Storage).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DirectIo {
    /// Never: through pinned memory, which from a page cache is as fast as the bus.
    #[default]
    Off,
    /// Where the kernel module `nvidia-fs` is loaded and takes the file; the plan says why not.
    Auto,
    /// Always, in cuFile's compatibility mode too; an error where it cannot.
    On,
}

/// Whether a GPU decodes Deflate and ZSTD by nvCOMP. What that does on corrupt input is undefined, reading and writing
/// memory that is not its own included, so anything but `Off` says that the file is trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nvcomp {
    /// Never: kernels of strile's own, which take any bytes.
    #[default]
    Off,
    /// A trusted file, where nvCOMP measured faster; an error where its library is not to be had.
    Trusted,
    /// A trusted file, all of it.
    TrustedAlways,
}
