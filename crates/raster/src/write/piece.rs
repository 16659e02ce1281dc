//! Pixels passed to a writer: a rectangle of the full image, in the caller's memory.

use crate::Window;
use crate::read::Interleave;
use strile_engine::{DeviceBytes, OutputError, OutputSpec};
use strile_tiff::DataType;

/// The bytes of a piece.
#[derive(Debug, Clone)]
pub enum PieceBytes<'a> {
    /// In host memory, in native byte order.
    Host(&'a [u8]),
    /// In the memory of a device. Work queued on them must be done, and they must not change until the writer has
    /// finished: blocks are encoded from them while the next piece is made. They are kept alive as long as they are
    /// needed.
    Device(DeviceBytes),
}

impl PieceBytes<'_> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Host(bytes) => bytes.len() as u64,
            Self::Device(bytes) => bytes.len(),
        }
    }
}

/// A rectangle of pixels, all bands, any size, any strides.
#[derive(Debug, Clone)]
pub struct Piece<'a> {
    /// Its position in the image.
    pub window: Window,
    /// Its shape in memory.
    pub spec: OutputSpec,
    /// The bytes.
    pub pixels: PieceBytes<'a>,
    /// A byte per pixel, row by row: 0 for invalid pixels.
    pub mask: Option<PieceBytes<'a>>,
}

impl<'a> Piece<'a> {
    /// Creates a piece of contiguous pixels in host memory.
    pub fn contiguous(
        window: Window,
        bands: u16,
        data_type: DataType,
        interleave: Interleave,
        pixels: &'a [u8],
    ) -> Result<Self, OutputError> {
        let Window { width, height, .. } = window;
        let spec = match interleave {
            Interleave::BandFirst => OutputSpec::band_first(data_type, u32::from(bands), height, width),
            Interleave::BandLast => OutputSpec::band_last(data_type, u32::from(bands), height, width),
        }?;
        Ok(Self { window, spec, pixels: PieceBytes::Host(pixels), mask: None })
    }

    /// Creates a piece of pixels in the memory of a device.
    pub fn on_device(window: Window, spec: OutputSpec, pixels: DeviceBytes) -> Self {
        Self { window, spec, pixels: PieceBytes::Device(pixels), mask: None }
    }

    /// Adds a mask in host memory.
    pub fn with_mask(self, mask: &'a [u8]) -> Self {
        Self { mask: Some(PieceBytes::Host(mask)), ..self }
    }
}
