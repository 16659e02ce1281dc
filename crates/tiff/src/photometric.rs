//! The meaning of the samples of a pixel: colour, palette, extra channels.

/// Tag PhotometricInterpretation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Photometric {
    /// 0 is white.
    MinIsWhite,
    /// 0 is black; also plain data.
    MinIsBlack,
    /// Red, green, blue.
    Rgb,
    /// An index into the colour map.
    Palette,
    /// Transparency mask of another image.
    Mask,
    /// Inks, usually CMYK.
    Separated,
    /// Luma and chroma, chroma possibly subsampled.
    YCbCr,
    /// CIE L*a*b*.
    CieLab,
    /// ICC L*a*b*.
    IccLab,
    /// ITU L*a*b*.
    ItuLab,
    /// SGI LogL.
    LogL,
    /// SGI LogLuv.
    LogLuv,
    /// Another number (colour filter arrays, linear raw, …).
    Other(u16),
}

impl Photometric {
    /// Returns the interpretation of the tag's number.
    pub const fn from_code(code: u16) -> Self {
        match code {
            0 => Self::MinIsWhite,
            1 => Self::MinIsBlack,
            2 => Self::Rgb,
            3 => Self::Palette,
            4 => Self::Mask,
            5 => Self::Separated,
            6 => Self::YCbCr,
            8 => Self::CieLab,
            9 => Self::IccLab,
            10 => Self::ItuLab,
            32844 => Self::LogL,
            32845 => Self::LogLuv,
            other => Self::Other(other),
        }
    }

    /// Returns the tag's number.
    pub const fn code(self) -> u16 {
        match self {
            Self::MinIsWhite => 0,
            Self::MinIsBlack => 1,
            Self::Rgb => 2,
            Self::Palette => 3,
            Self::Mask => 4,
            Self::Separated => 5,
            Self::YCbCr => 6,
            Self::CieLab => 8,
            Self::IccLab => 9,
            Self::ItuLab => 10,
            Self::LogL => 32844,
            Self::LogLuv => 32845,
            Self::Other(code) => code,
        }
    }

    /// Returns libtiff's name, in lower case.
    pub fn name(self) -> String {
        match self {
            Self::MinIsWhite => "miniswhite".into(),
            Self::MinIsBlack => "minisblack".into(),
            Self::Rgb => "rgb".into(),
            Self::Palette => "palette".into(),
            Self::Mask => "mask".into(),
            Self::Separated => "separated".into(),
            Self::YCbCr => "ycbcr".into(),
            Self::CieLab => "cielab".into(),
            Self::IccLab => "icclab".into(),
            Self::ItuLab => "itulab".into(),
            Self::LogL => "logl".into(),
            Self::LogLuv => "logluv".into(),
            Self::Other(code) => format!("{code}"),
        }
    }

    /// Returns the number of colour samples. Others are extra.
    pub const fn colour_samples(self) -> u16 {
        match self {
            Self::Rgb | Self::YCbCr | Self::CieLab | Self::IccLab | Self::ItuLab | Self::LogLuv => 3,
            Self::Separated => 4,
            _ => 1,
        }
    }
}

/// The meaning of an extra sample (tag ExtraSamples).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtraSample {
    /// Unspecified data.
    Unspecified,
    /// Alpha, colours already multiplied by it.
    AssociatedAlpha,
    /// Alpha, colours not multiplied.
    UnassociatedAlpha,
}

/// Parameters of the conversion from YCbCr to RGB: chroma subsampling, luma coefficients, code range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YCbCr {
    /// Horizontal and vertical chroma subsampling: 1, 2 or 4.
    pub subsampling: (u8, u8),
    /// Weights of red, green and blue in luma.
    pub coefficients: [f32; 3],
    /// ReferenceBlackWhite: black and white codes of Y, Cb, Cr.
    pub reference_black_white: [f32; 6],
}

impl Default for YCbCr {
    fn default() -> Self {
        Self {
            subsampling: (2, 2),
            coefficients: [0.299, 0.587, 0.114],
            reference_black_white: [0.0, 255.0, 128.0, 255.0, 128.0, 255.0],
        }
    }
}
