//! Estimates the duration of a read on either engine in seconds, from its sizes and constants of the machine.
//!
//! Pure arithmetic. An estimate only decides which engine decodes: no size is derived from it, so wrong constants at
//! worst make a read slow. Constants come from `constants`. Reading the file is not included if it is in the page
//! cache, because both engines read it as fast as they decode.

use super::constants::{CodecCosts, Constants};
use std::fmt;
use strile_tiff::Compression;

/// Seconds per encoded byte of blocks, and per additional byte produced from them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PerByte {
    pub(crate) read: f64,
    pub(crate) made: f64,
}

impl PerByte {
    /// Returns the seconds for blocks of these sizes, encoded and decoded.
    fn seconds(self, encoded: f64, decoded: f64) -> f64 {
        self.read * encoded + self.made * (decoded - encoded).max(0.0)
    }
}

/// The sizes of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    pub(crate) codec: Compression,
    /// Number of stored blocks.
    pub(crate) blocks: u64,
    /// Their encoded bytes.
    pub(crate) encoded: u64,
    /// Their decompressed bytes.
    pub(crate) decoded: u64,
    /// Bytes of the result.
    pub(crate) output: u64,
    /// Whether the result is stored in the device's memory.
    pub(crate) on_device: bool,
    /// Whether the bytes come over a network, not from a page cache.
    pub(crate) remote: bool,
    /// Threads that may decode.
    pub(crate) threads: usize,
    /// Seconds still to be paid for opening the device.
    pub(crate) opening: f64,
}

/// Estimated seconds of a read on either engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Decoded by the CPU. If the result is wanted on a device, includes the caller's copy.
    pub cpu: f64,
    /// Decoded by the first GPU.
    pub cuda: f64,
}

impl Estimate {
    /// Returns whether the GPU is clearly faster. The CPU gets close cases, because it needs no device memory.
    pub fn prefers_gpu(&self) -> bool {
        self.cuda * CLEARLY < self.cpu
    }

    /// Returns whether the CPU is clearly faster, and worth the detour via host memory. The GPU gets close cases if the
    /// result is wanted there.
    pub(crate) fn prefers_cpu(&self) -> bool {
        self.cpu * CLEARLY < self.cuda && self.cuda - self.cpu > DETOUR
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |seconds: f64| match seconds * 1e3 {
            small if small < 10.0 => format!("{small:.2} ms"),
            large => format!("{large:.0} ms"),
        };
        write!(f, "estimated cpu {}, cuda {}", milliseconds(self.cpu), milliseconds(self.cuda))
    }
}

/// Factor by which the other engine must be faster.
const CLEARLY: f64 = 1.15;
/// Seconds that a detour via host memory must save.
const DETOUR: f64 = 0.25e-3;
/// Cost of a block on a core that works alone, relative to its cost when all cores work.
const LONE_CORE: f64 = 0.8;
/// Threads finish half a block apart.
const LAST_BLOCK: f64 = 0.5;
/// Encoded bytes from which on all reader threads of a device are busy.
const ALL_READERS: f64 = 4e6;
/// Allocation of device memory for copied pixels, and the wait for the copy.
const UPLOAD_START: f64 = 0.04e-3;
/// Returns the estimates of a read; `None` if its codec has no kernel.
pub(crate) fn estimate(load: &Load, constants: &Constants) -> Option<Estimate> {
    let costs = constants.of(load.codec)?;
    let arrival = match load.remote {
        true => bytes(load.encoded) * constants.network,
        false => 0.0,
    };
    let (host, device) = (on_cpu(load, costs), on_device(load, costs, constants));
    let cpu = constants.cpu_start + host.max(arrival);
    let cuda = load.opening + constants.cuda_start + device.max(arrival);
    let output = bytes(load.output);
    Some(match load.on_device {
        true => Estimate { cpu: cpu + UPLOAD_START + output * constants.upload, cuda },
        false => Estimate { cpu, cuda: cuda + output * constants.back },
    })
}

/// Returns the estimate on the CPU. Blocks are distributed to threads as a whole.
fn on_cpu(load: &Load, costs: &CodecCosts) -> f64 {
    let blocks = bytes(load.blocks.max(1));
    let each = costs.core.seconds(bytes(load.encoded), bytes(load.decoded)) / blocks;
    match load.blocks {
        0 | 1 => each * LONE_CORE,
        _ => each * (blocks / threads(load) + LAST_BLOCK),
    }
}

/// Returns the estimate on a device: the slowest of three overlapping stages after the readers have started: the link,
/// one block alone, all blocks together.
fn on_device(load: &Load, costs: &CodecCosts, constants: &Constants) -> f64 {
    let (encoded, decoded, blocks) = (bytes(load.encoded), bytes(load.decoded), bytes(load.blocks.max(1)));
    let readers = constants.readers * (encoded / ALL_READERS).min(1.0);
    let link = encoded * constants.link;
    let alone = costs.alone.seconds(encoded / blocks, decoded / blocks);
    let together = costs.device.seconds(encoded, decoded);
    readers + link.max(alone).max(together)
}

/// Returns the number of threads that have a block to decode.
fn threads(load: &Load) -> f64 {
    bytes(u64::try_from(load.threads).unwrap_or(u64::MAX).clamp(1, load.blocks.max(1)))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn bytes(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::constants::BUILT_IN;
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Returns the load of tiles of 256² of a raster, with `encoded` bytes each.
    fn load(codec: Compression, blocks: u64, encoded: u64, decoded: u64, on_device: bool) -> Load {
        Load {
            codec,
            blocks,
            encoded: blocks * encoded,
            decoded: blocks * decoded,
            output: blocks * decoded,
            on_device,
            remote: false,
            threads: 16,
            opening: 0.0,
        }
    }

    /// Returns the load of an elevation model of float32 in Deflate, as in `docs/bench/log/gpu.md`.
    fn dem(blocks: u64, on_device: bool) -> Load {
        load(Compression::Deflate, blocks, 110_000, 262_144, on_device)
    }

    fn judged(load: &Load) -> Estimate {
        estimate(load, &BUILT_IN).unwrap()
    }

    #[test]
    fn one_tile_is_the_processors_and_a_thousand_are_the_devices() {
        for on_device in [false, true] {
            assert!(!judged(&dem(1, on_device)).prefers_gpu(), "{on_device}");
            assert!(judged(&dem(1024, on_device)).prefers_gpu(), "{on_device}");
        }
        // Uncompressed data does not reach host memory faster by way of a device.
        assert!(!judged(&load(Compression::None, 1024, 262_144, 262_144, false)).prefers_gpu());
        assert!(judged(&load(Compression::None, 1024, 262_144, 262_144, true)).prefers_gpu());
    }

    /// Windows of one tile of an open file, to the device and to the host, in microseconds from Python
    /// (`docs/bench/log/gpu.md`, 2026-11-18): uint16 with noise in tiles of 256² and 512².
    #[test]
    fn one_tile_goes_to_the_device_by_the_faster_engine() {
        use Compression as C;
        let (small, large) = ((91_874, 131_072), (367_000, 524_288));
        let rows = [
            (C::None, (131_072, 131_072), 93.0, 63.0),
            (C::Lzw, (106_282, 131_072), 223.0, 333.0),
            (C::Deflate, small, 512.0, 370.0),
            (C::Zstd, small, 2008.0, 288.0),
            (C::Zstd, large, 3348.0, 789.0),
        ];
        for (codec, (encoded, decoded), cuda, host) in rows {
            let found = judged(&load(codec, 1, encoded, decoded, true));
            // Plus the copy to the device. If the engines are close to each other, either will do.
            let by_cpu = host + 50.0;
            assert!(found.prefers_cpu() || by_cpu * 1.3 > cuda, "{codec:?} of {decoded}: {found}");
            assert!(!found.prefers_cpu() || by_cpu < cuda, "{codec:?} of {decoded}: {found}");
            let near = (0.3..2.0).contains(&(found.cuda * 1e6 / cuda));
            assert!(near, "{codec:?} of {decoded}: {found}, measured {cuda}");
        }
        // A small file is not worth the detour.
        assert!(!judged(&load(C::Zstd, 1, 900, 1_800, true)).prefers_cpu());
        // A chunk of 1024² of dask, and whole rasters.
        assert!(judged(&load(C::Zstd, 4, 367_000, 524_288, true)).prefers_cpu());
        assert!(!judged(&load(C::Deflate, 4, 367_000, 524_288, true)).prefers_cpu());
        assert!(!judged(&load(C::Lzw, 4, 425_000, 524_288, true)).prefers_cpu());
        for codec in [C::Zstd, C::Deflate, C::Lzw, C::None] {
            assert!(!judged(&load(codec, 1024, 91_874, 131_072, true)).prefers_cpu(), "{codec:?}");
            assert!(!judged(&load(codec, 4096, 2_700, 65_536, true)).prefers_cpu(), "{codec:?}");
        }
    }

    #[test]
    fn many_pictures_are_the_devices() {
        for (codec, encoded) in [(Compression::Jpeg2000, 290_000), (Compression::Jpeg, 60_000)] {
            for on_device in [false, true] {
                assert!(judged(&load(codec, 1024, encoded, 524_288, on_device)).prefers_gpu(), "{codec:?}");
            }
        }
    }

    /// Whole reads on the machine of the built-in constants, in milliseconds: a choice by these estimates is right as
    /// long as they are off by less than the engines differ.
    #[test]
    fn estimates_are_near_what_was_measured() {
        use Compression as C;
        let rows = [
            (load(C::Deflate, 1024, 110_259, 262_144, true), None, 7.2),
            (load(C::Deflate, 1024, 110_259, 262_144, false), Some(40.4), 25.0),
            (load(C::Lzw, 1024, 134_871, 262_144, true), None, 5.9),
            (load(C::Lzw, 1024, 106_282, 131_072, false), Some(38.1), 18.3),
            (load(C::Zstd, 1024, 91_874, 131_072, false), Some(17.5), 18.9),
            (load(C::Deflate, 1024, 115_813, 196_608, false), Some(69.3), 22.1),
            (load(C::None, 1024, 262_144, 262_144, true), None, 7.7),
            (load(C::None, 1024, 262_144, 262_144, false), Some(16.2), 27.2),
        ];
        for (load, cpu, cuda) in rows {
            let found = judged(&load);
            let near = |found: f64, measured: f64| (0.6..1.6).contains(&(found * 1e3 / measured));
            assert!(near(found.cuda, cuda), "{load:?}: {found}, measured {cuda}");
            assert!(cpu.is_none_or(|cpu| near(found.cpu, cpu)), "{load:?}: {found}, measured {cpu:?}");
        }
    }

    #[test]
    fn opening_the_device_counts_and_more_threads_are_faster() {
        let first = judged(&Load { opening: 0.3, ..dem(1024, true) });
        assert!(!first.prefers_gpu() && first.cuda > 0.3, "{first}");
        let alone = judged(&Load { threads: 1, ..dem(1024, false) });
        assert!(alone.cpu > 8.0 * judged(&dem(1024, false)).cpu && alone.prefers_gpu(), "{alone}");
        let many = judged(&Load { threads: usize::MAX, ..dem(16, false) });
        assert!(many.cpu > BUILT_IN.cpu_start, "{many}");
    }

    #[test]
    fn what_comes_over_a_network_is_no_faster_on_any_engine() {
        let afar = judged(&Load { remote: true, ..dem(1024, false) });
        assert!(afar.cpu >= 0.112 && afar.cuda >= 0.112, "{afar}");
    }

    #[test]
    fn nothing_and_more_than_there_is_make_finite_estimates() {
        let none = Load { blocks: 0, encoded: 0, decoded: 0, output: 0, threads: 0, ..dem(1, false) };
        let all = Load {
            blocks: u64::MAX,
            encoded: u64::MAX,
            decoded: u64::MAX,
            output: u64::MAX,
            ..dem(1, false)
        };
        for load in [none, all, Load { encoded: 900 * MIB, ..dem(1, false) }] {
            let found = judged(&load);
            assert!(found.cpu.is_finite() && found.cuda.is_finite() && found.cpu >= 0.0, "{found}");
        }
        assert_eq!(estimate(&Load { codec: Compression::Lzma, ..none }, &BUILT_IN), None);
    }
}
