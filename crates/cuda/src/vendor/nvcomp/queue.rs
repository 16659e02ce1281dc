//! A batch with nvCOMP: one pass that checks streams and fills the lists, one call, one pass that verifies, all on the
//! batch's stream, for any number of blocks.

#![expect(unsafe_code, reason = "kernels and a library are handed the addresses of what was made here")]

use super::library::Lists;
use super::{Codec, Decoders, Shape, failed};
use crate::abi::{DecodeArgs, DecodeBlock};
use crate::decode::batch::aligned;
use crate::decode::codec::{Kernel, Pass};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::launch::launch;
use crate::stream::Stream;
use strile_engine::EngineError;

/// Returns the passes before and after the call as a kernel of the engine. Scratch of a block is for its payload, or
/// for an empty stream.
const fn around(module: &'static str, passes: &'static [Pass]) -> Kernel {
    Kernel { module, passes, scratch: |src_len, _| src_len as u64 + 16 }
}

const fn pass(entry: &'static str, threads: u32) -> Pass {
    Pass { entry, threads, grid: |count, _| count }
}

static DEFLATE: Kernel =
    around("nvcomp_deflate", &[pass("nvcomp_deflate_prepare", 128), pass("nvcomp_deflate_verify", 32)]);
static ZSTD: Kernel =
    around("nvcomp_zstd", &[pass("nvcomp_zstd_prepare", 128), pass("nvcomp_zstd_verify", 32)]);

impl Codec {
    pub(super) fn kernel(self) -> &'static Kernel {
        match self {
            Self::Deflate => &DEFLATE,
            Self::Zstd => &ZSTD,
        }
    }
}

/// `NvcompArgs` of `nvcomp_abi.h`, which describes the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct NvcompArgs {
    decode: DecodeArgs,
    sources: u64,
    lengths: u64,
    rooms: u64,
    written: u64,
    targets: u64,
    said: u64,
}

const _: () = assert!(size_of::<NvcompArgs>() == 104);

/// Five lists of 64-bit values and one of 32-bit values.
const LISTS: u64 = 5;

/// Returns the bytes of the lists of `count` chunks.
pub(super) fn lists_len(count: u64) -> u64 {
    aligned(count.saturating_mul(8)).saturating_mul(LISTS).saturating_add(aligned(count.saturating_mul(4)))
}

/// The call of a batch for one codec.
#[derive(Debug)]
pub(crate) struct Call {
    codec: Codec,
    args: DecodeArgs,
    lists: Lists,
}

impl Call {
    /// Returns the call for `blocks`, with the arguments `args`, with its lists and temporary memory from `at` on; and
    /// the end of these. The plan made sure that they end before `end`.
    pub(crate) fn new(
        decoders: &Decoders,
        device: &Device,
        (codec, args, blocks): (Codec, DecodeArgs, &[DecodeBlock]),
        (at, end): (u64, u64),
    ) -> Result<(Self, u64), Stop> {
        let shape = Shape::of(blocks.iter().map(|block| block.dst_len));
        let step = aligned(shape.count * 8);
        let temporary_len = decoders.temporary(device, codec, shape)?;
        let temporary = at + lists_len(shape.count);
        let next = temporary.saturating_add(aligned(temporary_len));
        if next > end {
            return Err(EngineError::Abandoned.into());
        }
        let lists = Lists {
            sources: at,
            lengths: at + step,
            rooms: at + 2 * step,
            written: at + 3 * step,
            targets: at + 4 * step,
            said: at + LISTS * step,
            temporary,
            temporary_len,
        };
        Ok((Self { codec, args, lists }, next))
    }

    /// Queues the passes and the call between them.
    pub(crate) fn queue(&self, decoders: &Decoders, device: &Device, stream: &Stream) -> Result<(), Stop> {
        let Lists { sources, lengths, rooms, written, targets, said, .. } = self.lists;
        let args = NvcompArgs { decode: self.args, sources, lengths, rooms, written, targets, said };
        let kernel = self.codec.kernel();
        for (before_call, pass) in [true, false].into_iter().zip(kernel.passes) {
            let function = device.function(kernel.module, pass.entry)?;
            let grid = (pass.grid)(self.args.count, device.facts().multiprocessors);
            // SAFETY: as for every decompressor of a batch; the lists lie in the same memory, each with an entry for
            // every block.
            unsafe { launch(stream, &function, (grid, 1), pass.threads, &args) }?;
            if before_call {
                let _bound = device.bind()?;
                // SAFETY: the previous pass fills the lists with chunks and rooms of the arenas, and the caller
                // declared the files trusted when the engine was opened.
                unsafe { decoders.library.decompress(self.codec, self.args.count, &self.lists, stream) }
                    .map_err(|error| failed(device, &error))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::{Compression, LercWrapper};

    #[test]
    fn lists_lie_apart_and_aligned() {
        assert_eq!(lists_len(1), 6 * 256);
        assert_eq!(lists_len(33), 5 * 512 + 256);
        let shape = Shape::of([7, 9, 3].into_iter());
        assert_eq!(shape, Shape { count: 3, most: 9, total: 19 });
    }

    #[test]
    fn the_kernels_around_it_are_known_again() {
        for codec in [Codec::Deflate, Codec::Zstd] {
            assert_eq!(Codec::by(codec.kernel()), Some(codec));
            assert_eq!(codec.kernel().passes.len(), 2);
        }
        assert_eq!(
            crate::decode::codec::kernel(Compression::Deflate, LercWrapper::None).and_then(Codec::by),
            None
        );
    }
}
