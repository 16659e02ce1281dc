//! Writes a raster in parts that are encoded separately, by other threads, processes or machines, and assembled to the
//! file that a `Writer` would have written, byte for byte.
//!
//! A part is a rectangle of a level. Its encoder takes its pixels with a margin, encodes its blocks and those of the
//! levels above of which it covers whole blocks, and returns the reduced pixels of the following level. A part of that
//! level is computed from the reduced pixels of several parts. So there are tiers of parts: many of the full image,
//! fewer of each later level, one at the top. `tiers` is the geometry; `writer` encodes one part; `packed` is the
//! result, an index and the records of its blocks, in memory or in a file; `assembly` writes the file; `laid` only
//! computes its layout, so that processes that hold records can send them to the file. The pixels of a part do not
//! depend on how the others were made, and encoding a part again gives the same result. The caller decides who runs
//! them, and where.

mod assembly;
mod files;
mod laid;
mod packed;
mod tiers;
mod writer;

pub use assembly::Assembly;
pub use files::PartBytes;
pub(crate) use files::{PartFile, PartFiles};
pub use laid::{FileSegment, LaidOut};
pub(crate) use packed::PartRecord;
pub use tiers::{PartAddress, PartWindows, Parts, Tier};
pub use writer::{Beyond, EncodedPart, PartTarget, PartWriter};
