//! Halving an image: what is to be reduced, plain data. The arithmetic is in `reduce.md`.

use crate::{Fill, Pixels};

/// How a pixel of a reduced image comes of those of the image above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resampling {
    /// One of the four.
    Nearest,
    /// Their mean.
    Average,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The middle one.
    Median,
    /// The most frequent.
    Mode,
    /// The root of the mean of their squares.
    Rms,
    /// Weighted by a Gaussian.
    Gauss,
    /// Weighted by distance.
    Bilinear,
    /// Cubic convolution.
    Cubic,
    /// Lanczos windowed sinc.
    Lanczos,
}

impl Resampling {
    /// Every method.
    pub const ALL: [Self; 11] = [
        Self::Nearest,
        Self::Average,
        Self::Min,
        Self::Max,
        Self::Median,
        Self::Mode,
        Self::Rms,
        Self::Gauss,
        Self::Bilinear,
        Self::Cubic,
        Self::Lanczos,
    ];

    /// GDAL's name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Average => "average",
            Self::Min => "min",
            Self::Max => "max",
            Self::Median => "median",
            Self::Mode => "mode",
            Self::Rms => "rms",
            Self::Gauss => "gauss",
            Self::Bilinear => "bilinear",
            Self::Cubic => "cubic",
            Self::Lanczos => "lanczos",
        }
    }

    /// Pixels needed around the two by two under a reduced pixel, on each side, where the image has them.
    pub const fn halo(self) -> u32 {
        match self {
            Self::Nearest | Self::Average | Self::Min | Self::Max | Self::Median | Self::Mode | Self::Rms => {
                0
            }
            Self::Gauss | Self::Bilinear => 1,
            Self::Cubic => 3,
            Self::Lanczos => 5,
        }
    }
}

/// A part of a reduced image to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReduceTask {
    /// Index of the pixels it is computed from: the part below, with its halo where the image has one.
    pub pixels: u32,
    /// Index of the mask of the same part, one band of `uint8`, 0 where a pixel is not valid.
    pub mask: Option<u32>,
    /// Where the first of those pixels lies in the image: column, row.
    pub origin: (u32, u32),
    /// Size of the image: columns, rows. The reduced one has half of each, rounded up.
    pub image: (u32, u32),
    /// Where the part begins in the reduced image: column, row.
    pub target: (u32, u32),
    /// Its columns and rows.
    pub size: (u32, u32),
}

/// Parts to compute, all with one method.
#[derive(Debug, Clone)]
pub struct ReduceJob {
    /// The method.
    pub method: Resampling,
    /// Samples with this value are not valid; NaN never is.
    pub nodata: Option<Fill>,
    /// The parts, in the order in which they come back.
    pub tasks: Vec<ReduceTask>,
}

/// A part of a reduced image.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// Contiguous pixels, bands first or last as in what it was computed from, in the memory of the engine.
    pub pixels: Pixels,
    /// The mask, 0 or 255, where the task has one.
    pub mask: Option<Pixels>,
}
