//! Pictures: blocks that are complete JPEG or JPEG 2000 streams, decoded batch-wide on the device.
//!
//! Host threads read the streams and parse their headers ([`Decoder::parse`]) ahead of the device. The thread of the
//! job takes them in order and ends a batch when the memory of a flight is full: [`Need`]s are additive, so the memory
//! of a batch is known before it is laid out. Each batch is uploaded by one copy from one piece of pinned memory:
//! statuses, the tables of `place`, the tables of the decoder ([`Decoder::lay_out`]) and the bytes of its pictures
//! ([`Decoder::write`], on several threads). Then follow the decoder's kernels ([`Decoder::launch`]), `place`, and one
//! copy to the host with one wait.
//!
//! A decoder writes samples in the form `DecodedForm::Samples`: pixel by pixel, samples interleaved, of the layout's
//! data type in native order, `layout.decoded_len(rows)` bytes, with the same colours as the CPU engine. A picture that
//! is refused anywhere (by `parse`, by its status, by `finish`) is decoded by the host engine, whose result is final:
//! so a decoder accepts only streams it fully supports and need not know the tolerated oddities of a format.

mod bytes;
#[cfg(test)]
mod copied;
pub mod jpeg;
pub mod jpeg2000;
mod plan;
mod run;
mod sizes;
mod streams;
mod supply;
#[cfg(test)]
mod tests;
mod which;

pub use crate::decode::run::Stop;
pub(crate) use bytes::Buffers;
pub use bytes::{Bytes, KEPT, kept_bytes};
pub(crate) use plan::{MOST_UP, Pictures, Supplies};
pub(crate) use sizes::Sizes;
pub(crate) use streams::Streams;
pub(crate) use supply::{Wanted, ranges};
pub(crate) use which::Which;

use crate::device::Device;
use crate::stream::Stream;
use std::sync::Arc;
use strile_engine::{BlockFault, BlockLayout, EngineError};

/// Memory of a picture in a flight, in addition to its decoded samples, its status and its place. These are bounds: a
/// decoder may use less. Needs of several pictures are added, so they include alignment loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Need {
    /// Bytes of its own in the upload, which `write` fills: coded bytes, compacted or unchanged, with the slack that
    /// kernels read beyond them. 0 if a library takes the stream from the host.
    pub bytes: u64,
    /// Its share of the tables that `lay_out` fills.
    pub tables: u64,
    /// Its share of the working memory of kernels, which is uninitialised.
    pub scratch: u64,
}

/// A picture of a batch, with its source and destination.
#[derive(Debug)]
pub struct Placed<P> {
    /// Result of `parse`.
    pub picture: Arc<P>,
    /// Stream of the picture.
    pub stream: Bytes,
    /// Layout of its block.
    pub layout: Arc<BlockLayout>,
    /// Rows of its block, as passed to `parse`.
    pub rows: u32,
    /// Device address, a multiple of 256, of the `need.bytes` bytes that `write` fills.
    pub bytes: u64,
    /// Device address, a multiple of 256, of its samples; the kernels may write them and the padding up to a multiple
    /// of 16.
    pub dst: u64,
    /// Bytes of its samples: `layout.decoded_len(rows)`, at most 2^30.
    pub dst_len: u32,
    /// Index of its status.
    pub status: u32,
}

/// Memory shared by the pictures of a batch. Addresses are on the device and multiples of 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// One `u32` per picture, `PENDING` before the kernels run. Afterwards 0 means that all its samples are right; any
    /// other value (a `Fault` of `abi.h`, or still `PENDING`) that they must not be used.
    pub statuses: u64,
    /// Address of the tables that `lay_out` fills, as many bytes as its slice.
    pub tables: u64,
    /// Working memory.
    pub scratch: u64,
    /// Bytes of working memory: `fixed().scratch` and that of every picture, each rounded up to 256.
    pub scratch_len: u64,
}

/// Returns the error that a batch has less memory than the needs of its pictures. No stream can cause it.
pub(crate) fn too_little(what: &'static str, found: u64, expected: u64) -> Stop {
    let (found, expected) = (format!("{found} bytes"), format!("at most {expected}"));
    Stop::Engine(EngineError::Mismatch { what, found, expected })
}

/// A decoder of pictures on a device.
///
/// The engine calls `takes` and `estimate` when it plans, `parse`, `need` and `write` from any thread and concurrently,
/// the others from the thread of the job with the device's context bound. Several batches are in flight at once, each
/// with its own memory and stream.
pub trait Decoder: Send + Sync {
    /// Parsed data of one stream. Owns its data; the stream itself is kept alive for it.
    type Picture: Send + Sync;
    /// Launches of one batch. Lives until its work has been waited for.
    type Batch;

    /// Checks whether pictures of a layout are supported; the error is a clause for the plan, such as "samples of 32
    /// bits". Depends neither on a stream nor on a device.
    fn takes(&self, layout: &BlockLayout) -> Result<(), String>;

    /// Returns the expected need of an ordinary stream of `stream_len` bytes for `rows` rows of a layout. Sizes flights
    /// before anything is read: too much makes batches small, too little leaves room for fewer pictures than possible.
    /// A picture whose `need` exceeds a whole flight is left to the host.
    fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need;

    /// Returns the longest stream in bytes that is decoded: longer ones are left to the host, and a plan says so.
    fn longest(&self) -> u64 {
        u64::MAX
    }

    /// Returns the need of a batch in addition to its pictures (`bytes` is 0).
    fn fixed(&self) -> Need;

    /// Parses and checks a stream: sizes and number of components equal the block's, and all assumptions of kernels
    /// hold. Takes no more memory than `parsing` and the length of the stream. An error sends the block to the host.
    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Self::Picture, BlockFault>;

    /// Returns the bytes of host memory that `parse` may take for `rows` rows of a layout, in addition to the length of
    /// the stream; a picture may keep all of them.
    fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        let _ = (layout, rows);
        0
    }

    /// Returns the bytes of host memory that a picture keeps.
    fn held(&self, picture: &Self::Picture) -> u64 {
        let _ = picture;
        0
    }

    /// Returns the device memory of a picture.
    fn need(&self, picture: &Self::Picture) -> Need;

    /// Fills the `need.bytes` bytes of a picture in the upload, all of them including slack, because their previous
    /// contents are unspecified. May run before, during or after `lay_out`, but ends before `launch`.
    fn write(&self, picture: &Self::Picture, stream: &[u8], into: &mut [u8]);

    /// Fills the tables of a batch, which will lie at `room.tables`: `fixed().tables` bytes and those of every picture,
    /// initially zero. Uses only data that does not depend on pixels; launches nothing.
    fn lay_out(
        &self,
        pictures: &[Placed<Self::Picture>],
        room: &Room,
        tables: &mut [u8],
    ) -> Result<Self::Batch, Stop>;

    /// Queues all work of a batch on `stream`, after the upload. Work on other streams must first wait for `stream`,
    /// and `stream` must wait for it at the end (`Stream::wait_for`). Does not wait for this batch; may wait for
    /// resources of an earlier one (a state of a library). If a library refuses a picture immediately, its status stays
    /// unchanged.
    fn launch(&self, batch: &mut Self::Batch, device: &Device, stream: &Stream) -> Result<(), Stop>;

    /// Called once the work of a batch has been waited for: releases its resources, and returns the statuses (indices)
    /// of pictures that are wrong regardless of their status.
    fn finish(&self, batch: Self::Batch) -> Vec<u32> {
        drop(batch);
        Vec::new()
    }
}
