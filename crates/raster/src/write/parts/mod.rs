//! Writing a raster in parts that are encoded apart, by other threads, processes or machines, and put together to the
//! file that a `Writer` would have made, byte for byte.
//!
//! A part is a rectangle of a level. Whoever encodes it is given its pixels with a margin, encodes its blocks, those of
//! as many levels above as it covers whole blocks of, and hands on what it reduced of the level after them; parts of
//! that level are made of what several hand on. So there are tiers of parts: many of the full image, fewer of each
//! later one, one at the top. `tiers` is the geometry; `writer` encodes one part; `packed` is what comes of it, an index
//! and the records of its blocks, in memory or in a file; `assembly` makes the file of all; `laid` only says which
//! bytes it will have, so that processes that hold records can send them to where the file is. No pixel of a part depends
//! on how the others were made, and a part that is made again is the same. Who runs them, and where, is the caller's.

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
