//! The closed set of decoders of pictures, and what a plan asks of them.

use super::{Decoder, Need};
use strile_engine::BlockLayout;
use strile_tiff::Compression as C;

/// A decoder of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Kernels of our own for JPEG 2000.
    Jpeg2000,
    /// Kernels of our own for JPEG.
    Jpeg,
    /// Decodes on the host and copies: for tests of what is around decoders.
    #[cfg(test)]
    Copied,
}

/// Does something with the decoder that a `Which` names, whose type depends on it.
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
    /// The kernels for pictures of a layout, or why there are none for it; `None` for codecs that are no pictures.
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

    /// What an ordinary picture takes.
    pub(crate) fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need {
        with_decoder!(self, decoder => decoder.estimate(layout, rows, stream_len))
    }

    /// The most bytes of a stream that it decodes.
    pub(crate) fn longest(&self) -> u64 {
        with_decoder!(self, decoder => decoder.longest())
    }

    /// Host memory that parsing takes, besides as much as the stream has.
    pub(crate) fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        with_decoder!(self, decoder => decoder.parsing(layout, rows))
    }

    /// What a batch takes beside its pictures.
    pub(crate) fn fixed(&self) -> Need {
        with_decoder!(self, decoder => decoder.fixed())
    }

    /// Device memory that a flight is wished to have: what it takes until its kernels fill the device, together with those
    /// of the flights beside it.
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
