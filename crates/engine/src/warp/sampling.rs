//! Resampling methods and their reach.

use strile_tiff::DataType;

/// How the value of a pixel is made from samples of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WarpSampling {
    /// The sample whose pixel contains the position.
    #[default]
    Nearest,
    /// The four samples around the position, weighted by distance.
    Bilinear,
    /// Cubic convolution of four by four samples (Catmull-Rom).
    Cubic,
    /// Cubic B-spline of four by four samples.
    CubicSpline,
    /// Windowed sinc of six by six samples.
    Lanczos,
    /// The mean of the samples under the pixel, weighted by the covered part of each.
    Average,
    /// The sample that covers most of the pixel.
    Mode,
    /// The minimum of the samples under the pixel.
    Min,
    /// The maximum of the samples under the pixel.
    Max,
    /// The median of the samples under the pixel.
    Median,
    /// Their first quartile.
    Q1,
    /// Their third quartile.
    Q3,
    /// Their root mean square, weighted by the covered part of each.
    Rms,
    /// The sum of the samples, each weighted by the part of it that the pixel covers: sums over an area are preserved.
    Sum,
}

/// The samples that a method uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpRule {
    /// The pixel that contains the position.
    Pixel,
    /// The two by two samples around the position.
    Four,
    /// The four by four samples around the position; two by two if one is missing.
    Sixteen,
    /// Samples within a radius of this many pixels of the grid, or of the source if those are larger.
    Kernel(u32),
    /// The samples under the pixel.
    Footprint,
}

/// Up to this scale kernels are widened; above it, where pixels of the grid are less than two of the source, they are
/// not and the short rule applies. As in GDAL.
const SHORT: f64 = 0.5;

impl WarpSampling {
    /// All methods.
    pub const ALL: [Self; 14] = [
        Self::Nearest,
        Self::Bilinear,
        Self::Cubic,
        Self::CubicSpline,
        Self::Lanczos,
        Self::Average,
        Self::Mode,
        Self::Min,
        Self::Max,
        Self::Median,
        Self::Q1,
        Self::Q3,
        Self::Rms,
        Self::Sum,
    ];

    /// Returns the samples that the method uses if a pixel of the source is `scale` pixels of the grid wide and high.
    pub fn rule(self, (x, y): (f64, f64)) -> WarpRule {
        let short = x > SHORT && y > SHORT;
        match self {
            Self::Nearest => WarpRule::Pixel,
            Self::Bilinear if short => WarpRule::Four,
            Self::Bilinear => WarpRule::Kernel(1),
            Self::Cubic if short => WarpRule::Sixteen,
            Self::Cubic | Self::CubicSpline => WarpRule::Kernel(2),
            Self::Lanczos => WarpRule::Kernel(3),
            _ => WarpRule::Footprint,
        }
    }

    /// Returns whether the method uses all samples under the pixel: its map has the corners of pixels, not their
    /// centres.
    pub const fn is_footprint(self) -> bool {
        !matches!(self, Self::Nearest | Self::Bilinear | Self::Cubic | Self::CubicSpline | Self::Lanczos)
    }

    /// Returns whether the result is always one of the samples, never computed from several.
    pub const fn selects(self) -> bool {
        matches!(
            self,
            Self::Nearest | Self::Mode | Self::Min | Self::Max | Self::Median | Self::Q1 | Self::Q3
        )
    }

    /// Returns whether samples of type `from` can be warped to type `to`. Complex samples support only `Nearest`,
    /// unchanged.
    pub fn takes(self, from: DataType, to: DataType) -> bool {
        let complex = |data_type| matches!(data_type, DataType::C64 | DataType::C128);
        match complex(from) || complex(to) {
            true => self == Self::Nearest && from == to,
            false => true,
        }
    }

    /// Returns the offset of the last contributing sample along an axis: samples from `1 - taps` to `taps`, relative to
    /// the pixel before the position.
    pub fn taps(radius: u32, scale: f64) -> f64 {
        if scale < 1.0 { (f64::from(radius) / scale).ceil() } else { f64::from(radius) }
    }

    /// Returns how many source pixels beyond a position may contribute, across and down.
    pub fn reach(self, scale: (f64, f64)) -> (f64, f64) {
        /// Allowance for offsets that are added to positions before rounding.
        const HAIR: f64 = 0.01;
        let both = |reach: f64| (reach + HAIR, reach + HAIR);
        match self.rule(scale) {
            WarpRule::Pixel => both(0.0),
            WarpRule::Four => both(1.5),
            WarpRule::Sixteen => both(2.5),
            WarpRule::Kernel(radius) => {
                (Self::taps(radius, scale.0) + 0.5 + HAIR, Self::taps(radius, scale.1) + 0.5 + HAIR)
            }
            WarpRule::Footprint => both(1.0),
        }
    }
}
