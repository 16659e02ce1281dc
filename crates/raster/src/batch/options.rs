//! What can be chosen for a batch, and every default.

use crate::cache::Cache;
use crate::grid::{Grid, Onto, WarpOptions};
use crate::options::{FloatType, OnFault, Processor, ReadOptions, limits, setters};
use std::sync::Arc;
use strile_engine::Sampling;
use strile_tiff::gdal::NoData;

/// What becomes of the pixels of a batch, and who reads them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BatchOptions {
    /// Missing pixels become NaN: by nodata, else by the mask image, else by alpha. The result is of floats whether a file
    /// has one of them or not. A VRT without nodata, but with a mask band or alpha, is refused.
    pub masked: bool,
    /// The same, and other samples become stored × scale + offset by GDAL's scale and offset of their file.
    pub unpack: bool,
    /// All samples become floats of this type, stored values where neither `masked` nor `unpack` is set. `None`: the type
    /// that all files store, or, where either is set, `float32` where that holds every stored value, else `float64`.
    pub float_type: Option<FloatType>,
    /// What pixels outside their image become, a value of the result's type. `None`: NaN where `masked` or `unpack` is
    /// set, else the file's nodata, else 0.
    pub fill: Option<NoData>,
    /// Columns and rows that every window is resampled to, whatever pixels it covers; `None`: windows keep their pixels,
    /// and all have as many.
    pub size: Option<(u32, u32)>,
    /// How, where they are.
    pub sampling: Sampling,
    /// The grid that windows are put onto, and how; `None`: windows are pixels of their files. Areas of windows are then
    /// those of the grid: its pixels, and boxes and places in its reference system, also outside of it. With a `size` each
    /// window has that size in pixels, whatever the pixels of the grid are. Files may have any reference system.
    pub onto: Option<Arc<Onto>>,
    /// Faulty blocks fail the read unless told otherwise.
    pub on_fault: OnFault,
    /// The most samples of a window before it is resampled, as in `ReadOptions::max_pixels`.
    pub max_pixels: Option<u64>,
    /// The most bytes of a compressed block once decoded, as in `ReadOptions::max_block_bytes`.
    pub max_block_bytes: Option<u64>,
    /// Whether blocks are taken from the cache of the process and kept there, as in `ReadOptions::cache`.
    pub cache: Cache,
    /// Who decodes, as in `ReadOptions::decode_on`.
    pub decode_on: Processor,
    /// Bytes that strile may take of the GPU's memory, in this process and from now on; `None` leaves the limit as it is.
    pub device_memory: Option<u64>,
}

impl BatchOptions {
    /// Returns the options that read stored values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the type of the result; `None` leaves it to the files.
    #[must_use]
    pub fn float_type(mut self, float_type: impl Into<Option<FloatType>>) -> Self {
        self.float_type = float_type.into();
        self
    }

    /// Puts windows onto a grid; `sampling` is then that of the warp.
    #[must_use]
    pub fn onto(mut self, grid: Grid, warp: WarpOptions) -> Self {
        self.onto = Some(Arc::new(Onto { grid, warp }));
        self
    }

    setters! {
        /// Makes missing pixels NaN.
        masked: bool,
        /// Makes missing pixels NaN, and applies scale and offset.
        unpack: bool,
        /// Sets how windows are resampled.
        sampling: Sampling,
        /// Sets what becomes of faulty blocks.
        on_fault: OnFault,
        /// Sets whether blocks are taken from the cache of the process and kept there.
        cache: Cache,
        /// Sets who decodes.
        decode_on: Processor,
    }

    limits! {
        /// Sets the value of pixels outside their image.
        fill: NoData,
        /// Resamples every window to so many columns and rows.
        size: (u32, u32),
        /// Limits the samples of a window before it is resampled.
        max_pixels: u64,
        /// Limits the bytes of a compressed block once decoded.
        max_block_bytes: u64,
        /// Limits the memory of the GPU, for the whole process.
        device_memory: u64,
    }

    /// Those that a read has, too.
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            masked: self.masked,
            unpack: self.unpack,
            float_type: self.float_type,
            on_fault: self.on_fault,
            max_pixels: self.max_pixels,
            max_block_bytes: self.max_block_bytes,
            cache: self.cache,
            decode_on: self.decode_on,
            device_memory: self.device_memory,
            ..ReadOptions::default()
        }
    }

    /// Whether samples become floats whatever files say.
    pub(crate) fn converts(&self) -> bool {
        self.masked || self.unpack || self.float_type.is_some()
    }
}
