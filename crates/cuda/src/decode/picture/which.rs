//! All picture decoders, and the questions that a plan asks them.

use super::{Decoder, Need};
use strile_engine::BlockLayout;
use strile_tiff::Compression as C;

/// A decoder of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// strile's kernels for JPEG 2000.
    Jpeg2000,
    /// strile's kernels for JPEG.
    Jpeg,
    /// Decodes on the host and copies: for tests of the code around decoders.
    #[cfg(test)]
    Copied,
}

/// Evaluates an expression with the decoder of a `Which`, whose type depends on it.
macro_rules! with_decoder {
    ($which:expr, $decoder:ident => $body:expr) => {
        match $which {
            $crate::decode::picture::Which::Jpeg2000 => {
                let $decoder = &$crate::decode::picture::jpeg2000::Jpeg2000;
                $body
            }
            $crate::decode::picture::Which::Jpeg => {
                let $decoder = &$crate::decode::picture::jpeg::Jpeg::new();
                $body
            }
            #[cfg(test)]
            $crate::decode::picture::Which::Copied => {
                let $decoder = &$crate::decode::picture::copied::Copied;
                $body
            }
        }
    };
}

impl Which {
    /// Returns the kernels for pictures of a layout, or why there are none; `None` for other codecs.
    pub(crate) fn of(layout: &BlockLayout) -> Option<Result<Self, String>> {
        let which = match layout.compression {
            C::Jpeg2000 | C::Jpeg2000YCbCr | C::Jpeg2000Rgb => Self::Jpeg2000,
            C::Jpeg => Self::Jpeg,
            #[cfg(test)]
            C::Lerc => Self::Copied,
            _ => return None,
        };
        Some(with_decoder!(&which, decoder => decoder.takes(layout)).map(|()| which))
    }

    /// Returns the estimate of an ordinary picture.
    pub(crate) fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need {
        with_decoder!(self, decoder => decoder.estimate(layout, rows, stream_len))
    }

    /// Returns the longest stream in bytes that it decodes.
    pub(crate) fn longest(&self) -> u64 {
        with_decoder!(self, decoder => decoder.longest())
    }

    /// Returns the host memory for parsing, in addition to the length of the stream.
    pub(crate) fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        with_decoder!(self, decoder => decoder.parsing(layout, rows))
    }

    /// Returns the need of a batch in addition to its pictures.
    pub(crate) fn fixed(&self) -> Need {
        with_decoder!(self, decoder => decoder.fixed())
    }

    /// Returns the desired device memory of a flight: enough for its kernels to fill the device, together with the
    /// flights beside it.
    pub(crate) fn working(&self) -> u64 {
        match self {
            Self::Jpeg2000 => 1 << 30,
            Self::Jpeg => 256 << 20,
            #[cfg(test)]
            Self::Copied => 1 << 20,
        }
    }
}

pub(crate) use with_decoder;
