//! NVIDIA's libraries, opened at run time where a caller asks for them: nvCOMP for Deflate and ZSTD, nvJPEG2000 to write
//! JPEG 2000. All of it is behind the feature `vendor`, which `enabled.rs` and `disabled.rs` alone know: both have the same
//! names, and without the feature what is asked for is refused (decision 024).

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

/// Whether nvCOMP decodes. Anything but `Off` says that the files read are trusted: a corrupt or hostile one may then
/// make it read and write memory that is not its own, on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Nvcomp {
    /// Never: kernels of our own, which take any bytes.
    #[default]
    Off,
    /// Trusted files, where it measured faster than kernels of our own.
    Trusted,
    /// Trusted files, all of their Deflate and ZSTD.
    TrustedAlways,
}

/// How many chunks there are, the most bytes that one becomes, and those of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) count: u64,
    pub(crate) most: u64,
    pub(crate) total: u64,
}

impl Shape {
    /// Of chunks that become so many bytes.
    pub(crate) fn of(lens: impl Iterator<Item = u32>) -> Self {
        lens.fold(Self::default(), Self::with)
    }

    /// With one more.
    pub(crate) fn with(self, len: u32) -> Self {
        Self {
            count: self.count + 1,
            most: self.most.max(u64::from(len)),
            total: self.total.saturating_add(u64::from(len)),
        }
    }
}
