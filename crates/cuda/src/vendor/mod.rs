//! NVIDIA's libraries, opened at run time on request: nvCOMP for Deflate and ZSTD, nvJPEG2000 to write JPEG 2000. All
//! of it is behind the feature `vendor`, used only in `enabled.rs` and `disabled.rs`: both define the same names, and
//! without the feature requests are refused (decision 024).

#[cfg_attr(feature = "vendor", path = "enabled.rs")]
#[cfg_attr(not(feature = "vendor"), path = "disabled.rs")]
mod libraries;

pub(crate) use libraries::{Call, Compressing, Compressor, Decoders, Encoders, Pictures, Recipe, Source};
#[cfg(feature = "vendor")]
pub use libraries::{nvcomp, nvjpeg2000};

#[cfg(test)]
#[path = "disabled.rs"]
#[allow(dead_code, reason = "compiled again for its tests, whatever the feature")]
mod without;

/// The name of nvCOMP: in plans of reads, and as [`Encoder::Library`](strile_engine::Encoder::Library), whose effort is
/// 0 to 5 for Deflate and 0 for ZSTD.
pub const NVCOMP: &str = "nvcomp";
/// The name of nvJPEG2000 as [`Encoder::Library`](strile_engine::Encoder::Library), which has no effort.
pub const NVJPEG2000: &str = "nvjpeg2000";

/// Whether nvCOMP decodes. Any value but `Off` states that the files are trusted: a corrupt or hostile file may then
/// make nvCOMP read and write out of bounds on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Nvcomp {
    /// Never: use strile's kernels, which accept any bytes.
    #[default]
    Off,
    /// For trusted files, where it measured faster than strile's kernels.
    Trusted,
    /// For trusted files, all of their Deflate and ZSTD.
    TrustedAlways,
}

/// Number of chunks, the largest decoded size of one, and the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) count: u64,
    pub(crate) most: u64,
    pub(crate) total: u64,
}

impl Shape {
    /// Returns the shape of chunks with these decoded sizes.
    pub(crate) fn of(lens: impl Iterator<Item = u32>) -> Self {
        lens.fold(Self::default(), Self::with)
    }

    /// Returns the shape with one more chunk.
    pub(crate) fn with(self, len: u32) -> Self {
        Self {
            count: self.count + 1,
            most: self.most.max(u64::from(len)),
            total: self.total.saturating_add(u64::from(len)),
        }
    }
}
