//! Pictures: blocks that are whole JPEG or JPEG 2000 streams, decoded batch-wide on the device.
//!
//! Threads of the host read the streams and parse their headers ([`Decoder::parse`]) ahead of the device. The thread of
//! the job takes them in order and cuts a batch where the memory of a flight is full: [`Need`]s add up, so what a batch
//! takes is known before it is laid out. Of each batch, one piece of pinned memory goes up by one copy: statuses, the
//! tables of `place`, the tables of the decoder ([`Decoder::lay_out`]) and the bytes of its pictures
//! ([`Decoder::write`], by several threads). Then come the decoder's kernels ([`Decoder::launch`]), `place`, and one copy
//! down, waited for once.
//!
//! A decoder leaves samples as `DecodedForm::Samples` has them: pixel by pixel, samples interleaved, of the layout's data
//! type in native order, `layout.decoded_len(rows)` bytes, with colour as the CPU engine gives it. A picture that is
//! refused anywhere (by `parse`, by its status, by `finish`) is decoded by the host engine, whose verdict counts: so a
//! decoder takes what it is sure of and need not know the tolerated oddities of a format.

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

/// What a picture takes of a flight's memory, beside its decoded samples, its status and its place. Bounds: a decoder may
/// use less. Those of several pictures add up, so what alignment loses is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Need {
    /// Bytes of its own in the upload, which `write` fills: coded bytes, compacted or as they are, with the slack that
    /// kernels read beyond them. 0 where a library takes the stream from the host.
    pub bytes: u64,
    /// Its share of the tables that `lay_out` fills.
    pub tables: u64,
    /// Its share of the memory that kernels work in; nothing in it is initialised.
    pub scratch: u64,
}

/// A picture of a batch, and where it comes from and goes.
#[derive(Debug)]
pub struct Placed<P> {
    /// What `parse` made of it.
    pub picture: Arc<P>,
    /// The stream it was made of.
    pub stream: Bytes,
    /// The layout of its block.
    pub layout: Arc<BlockLayout>,
    /// Rows of its block, as given to `parse`.
    pub rows: u32,
    /// Device address, a multiple of 256, of what `write` fills for it: `need.bytes` bytes.
    pub bytes: u64,
    /// Device address, a multiple of 256, of its samples; they and what is left up to a multiple of 16 may be written.
    pub dst: u64,
    /// Bytes of its samples: `layout.decoded_len(rows)`, at most 2^30.
    pub dst_len: u32,
    /// Index of its status.
    pub status: u32,
}

/// Memory of a batch that its pictures share. Addresses are of the device and multiples of 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// A `u32` for each picture, `PENDING` before the kernels. Afterwards 0 says that all its samples are right; anything
    /// else (a `Fault` of `abi.h`, or still `PENDING`) that they are not to be used.
    pub statuses: u64,
    /// Where the tables will lie that `lay_out` fills: as many bytes as its slice has.
    pub tables: u64,
    /// Working memory.
    pub scratch: u64,
    /// Bytes of it: `fixed().scratch` and that of every picture, each rounded up to 256.
    pub scratch_len: u64,
}

/// That a batch was given less memory than its pictures' needs add up to. No stream brings that about.
pub(crate) fn too_little(what: &'static str, found: u64, expected: u64) -> Stop {
    let (found, expected) = (format!("{found} bytes"), format!("at most {expected}"));
    Stop::Engine(EngineError::Mismatch { what, found, expected })
}

/// A way to decode pictures on a device.
///
/// The engine calls `takes` and `estimate` when it plans, `parse`, `need` and `write` from any thread and several at once,
/// the rest from the thread of the job with the device's context bound. Several batches are under way at once, each with
/// memory and a stream of its own.
pub trait Decoder: Send + Sync {
    /// All that is known of one stream. Owns what it needs; the stream itself is kept for it.
    type Picture: Send + Sync;
    /// All that is launched for one batch. Lives until its work has been waited for.
    type Batch;

    /// Whether pictures of a layout are decoded, or why not: a clause for the plan, such as "samples of 32 bits". Knows no
    /// stream and asks no device.
    fn takes(&self, layout: &BlockLayout) -> Result<(), String>;

    /// What an ordinary stream of so many bytes for `rows` rows of a layout is expected to need. Flights are sized by it,
    /// before anything is read: too much makes batches small, too little leaves room for fewer pictures than there could
    /// be. A picture whose `need` is more than a whole flight goes to the host.
    fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need;

    /// The most bytes of a stream that is decoded: longer ones are the host's, and a plan says so.
    fn longest(&self) -> u64 {
        u64::MAX
    }

    /// What a batch needs whatever is in it (`bytes` is 0).
    fn fixed(&self) -> Need;

    /// What a stream says, checked: sizes and number of components are the block's, and whatever kernels rely on holds.
    /// Takes no more memory than `parsing` and the length of the stream. An error sends the block to the host.
    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Self::Picture, BlockFault>;

    /// Bytes of host memory that `parse` may take for `rows` rows of a layout, besides as many as the stream has; of
    /// these, a picture may keep all.
    fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        let _ = (layout, rows);
        0
    }

    /// Bytes of host memory that a picture keeps.
    fn held(&self, picture: &Self::Picture) -> u64 {
        let _ = picture;
        0
    }

    /// What a picture takes on the device.
    fn need(&self, picture: &Self::Picture) -> Need;

    /// Fills the `need.bytes` bytes of a picture in the upload. All of them, slack too: what was in them before is
    /// anything. May run before, beside or after `lay_out`, but ends before `launch`.
    fn write(&self, picture: &Self::Picture, stream: &[u8], into: &mut [u8]);

    /// Fills the tables of a batch, which will lie at `room.tables`: `fixed().tables` bytes and those of every picture,
    /// zero before. Only what does not depend on the pixels is known here; nothing is launched yet.
    fn lay_out(
        &self,
        pictures: &[Placed<Self::Picture>],
        room: &Room,
        tables: &mut [u8],
    ) -> Result<Self::Batch, Stop>;

    /// Queues all work of a batch on `stream`; the upload is ordered before it. What is queued on other streams is ordered
    /// behind `stream` first and before it at the end (`Stream::wait_for`). Waits for nothing of this batch; may wait for
    /// what an earlier one holds (a state of a library). A library that refuses a picture at once leaves its status alone.
    fn launch(&self, batch: &mut Self::Batch, device: &Device, stream: &Stream) -> Result<(), Stop>;

    /// Called once the work of a batch has been waited for: gives back what it held, and names the statuses (indices) of
    /// pictures that are not right whatever their status says.
    fn finish(&self, batch: Self::Batch) -> Vec<u32> {
        drop(batch);
        Vec::new()
    }
}
