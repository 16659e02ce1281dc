//! Passes pixels of an input to a writer: once, or twice for a cloud-optimized file. The next piece is read while one
//! is written.

use super::pieces::Cut;
use super::reads::layers;
use crate::error::{Error, Result};
use crate::file::input::Input;
use crate::options::{Place, ReadOptions};
use crate::pixels::Pixels;
use crate::window::Window;
use crate::write::{Piece, Writer};
use std::sync::mpsc::sync_channel;
use std::thread;
use strile_engine::{Context, LocatedFault, Location, thread_builder};
use strile_tiff::Compression;

/// Pixels of a window and its mask.
pub(crate) struct Layers {
    pixels: Pixels,
    mask: Option<Pixels>,
}

impl Layers {
    /// Reads a window of the input with `source`.
    pub(crate) fn read(
        source: &impl Fn(&ReadOptions) -> Result<Pixels>,
        read: &ReadOptions,
        window: Window,
        masked: bool,
    ) -> Result<Self> {
        let (pixels, mask) = layers(read, window, masked);
        Ok(Self { pixels: source(&pixels)?, mask: mask.map(|mask| source(&mask)).transpose()? })
    }

    /// Passes them to the writer. Returns the faults that were filled.
    pub(crate) fn write(self, writer: &mut Writer, target: Window) -> Result<Vec<LocatedFault>> {
        let Self { pixels, mask } = self;
        let mut faults = pixels.located_faults();
        faults.extend(mask.iter().flat_map(Pixels::located_faults));
        let mask = mask.as_ref().map(|mask| mask.piece(target)).transpose()?.map(|mask| mask.pixels);
        if pixels.device_bytes().is_some() {
            writer.write(&Piece { mask, ..pixels.piece(target)? })?;
        } else {
            let spec = pixels.spec()?;
            writer.write_owned((target, spec), pixels.into_bytes()?, mask)?;
        }
        Ok(faults)
    }
}

/// Reads all pieces with `read` and passes them to `take`, in order. The next piece is read while one is taken, unless
/// the call may use fewer threads than the machine has, or there is no memory for two pieces: then one step follows the
/// other.
pub(crate) fn each_piece<T: Send>(
    cut: Cut,
    read: impl Fn(Window) -> Result<T> + Sync,
    mut take: impl FnMut(Window, T) -> Result<()>,
    context: &Context,
) -> Result<()> {
    let mut take = |window, piece| match context.cancel.is_cancelled() {
        true => Err(Error::Cancelled),
        false => take(window, piece),
    };
    let mut taken = 0;
    if thread::available_parallelism().is_ok_and(|all| context.threads >= all) {
        thread::scope(|scope| -> Result<()> {
            let (give, given) = sync_channel(0);
            let reader = || {
                let give = give;
                for window in cut.windows() {
                    let piece = read(window);
                    let failed = piece.is_err();
                    // After an error, no more pieces are taken.
                    if give.send((window, piece)).is_err() || failed {
                        break;
                    }
                }
            };
            // Without a thread, no pieces arrive.
            let _reader = thread_builder("strile-ahead").and_then(|new| new.spawn_scoped(scope, reader));
            for (window, piece) in given {
                match piece {
                    Err(Error::Memory { .. } | Error::NoMemory { .. }) => break,
                    piece => take(window, piece?)?,
                }
                taken += 1;
            }
            Ok(())
        })?;
    }
    cut.windows().skip(taken).try_for_each(|window| take(window, read(window)?))
}

/// Returns whether reading an input twice costs less than a spool of the encoded blocks: for local files, always on a
/// device, and on the CPU if its codec is many times faster than any encoder.
pub(super) fn is_read_fast(input: &Input, from: &Place, to: Location) -> Result<bool> {
    use Compression as C;
    let Input::Tiff(dataset) = input else { return Ok(false) };
    let target = dataset.target(from)?;
    let fast = matches!(target.image.compression, C::None | C::PackBits | C::Zstd);
    Ok(target.file.source.local().is_some() && (fast || to != Location::Host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroUsize;
    use std::sync::Mutex;
    use strile_engine::EngineError;

    const CUT: Cut = Cut { window: Window { column: 0, row: 0, width: 4, height: 10 }, piece: (4, 2) };

    fn contexts() -> [Context; 2] {
        [1, 64].map(|threads| Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() })
    }

    #[test]
    fn pieces_come_in_order_and_once() {
        for context in contexts() {
            let mut rows = Vec::new();
            let take = |window: Window, row: u32| {
                assert_eq!(window.row, row);
                rows.push(row);
                Ok(())
            };
            each_piece(CUT, |window| Ok(window.row), take, &context).unwrap();
            assert_eq!(rows, [0, 2, 4, 6, 8]);
        }
    }

    #[test]
    fn an_error_ends_it_on_both_sides() {
        for context in contexts() {
            let read = |window: Window| match window.row {
                4 => Err(Error::Engine(EngineError::Abandoned)),
                row => Ok(row),
            };
            let mut rows = Vec::new();
            let take = |_: Window, row: u32| {
                rows.push(row);
                Ok(())
            };
            let read = each_piece(CUT, read, take, &context);
            assert!(matches!(read, Err(Error::Engine(EngineError::Abandoned))));
            assert_eq!(rows, [0, 2]);
            let take = |_: Window, row: u32| if row < 4 { Ok(()) } else { Err(Error::Cancelled) };
            assert!(matches!(
                each_piece(CUT, |window| Ok(window.row), take, &context),
                Err(Error::Cancelled)
            ));
            context.cancel.cancel();
            let cancelled = each_piece(CUT, |window| Ok(window.row), |_, _: u32| Ok(()), &context);
            assert!(matches!(cancelled, Err(Error::Cancelled)));
        }
    }

    /// Memory for one piece, which is released after it was taken.
    #[test]
    fn pieces_are_read_one_by_one_where_there_is_memory_for_one() {
        let [_, context] = contexts();
        let budget = strile_engine::Budget::new(100);
        let most = Mutex::new(0);
        let read = |window: Window| -> Result<(u32, strile_engine::Lease)> {
            let lease = budget.take(60, "a piece").map_err(|error| Error::Memory { error })?;
            *most.lock().unwrap() += 1;
            Ok((window.row, lease))
        };
        let mut rows = Vec::new();
        let take = |_: Window, (row, _lease): (u32, strile_engine::Lease)| {
            rows.push(row);
            Ok(())
        };
        each_piece(CUT, read, take, &context).unwrap();
        assert_eq!((rows, most.into_inner().unwrap()), (vec![0, 2, 4, 6, 8], 5));
    }
}
