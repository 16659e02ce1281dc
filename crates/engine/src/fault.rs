//! Faults of single blocks. The numbers are fixed: kernels report them too.

use crate::{BlockAddress, Span};
use std::borrow::Cow;
use std::fmt;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum FaultKind {
    /// Compressed data ends before the block is complete.
    InputTruncated = 1,
    /// The stream ended properly, but with fewer bytes than the block needs.
    OutputShort = 2,
    /// The stream holds more bytes than the block needs.
    OutputSurplus = 3,
    /// The checksum of the stream does not match.
    Checksum = 4,
    /// The stream contains an invalid code, header or reference.
    Corrupt = 5,
    /// The stream's own size, depth or number of components differs from the block's.
    WrongShape = 6,
    /// The stream uses a feature that the decoder does not support.
    Unsupported = 7,
    /// The source could not return the bytes.
    Unreadable = 8,
    /// The budget had no memory for decoding.
    OutOfMemory = 9,
    /// A value to be written cannot be represented in the stored sample.
    Unrepresentable = 10,
}

/// A fault of one block, without its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFault {
    /// Kind.
    pub kind: FaultKind,
    /// Actual bytes (or the quantity that the detail names).
    pub found: u64,
    /// Expected bytes (or the quantity that the detail names).
    pub expected: u64,
    /// Details in words: a clause without a full stop, or empty.
    pub detail: Cow<'static, str>,
}

impl BlockFault {
    /// Returns the fault of a stream whose input ended after `found` of `expected` bytes of output.
    pub fn truncated(found: usize, expected: usize) -> Self {
        Self::sized(FaultKind::InputTruncated, found, expected)
    }

    /// Returns the fault of a stream that ended properly after `found` bytes of output.
    pub fn short(found: usize, expected: usize) -> Self {
        Self::sized(FaultKind::OutputShort, found, expected)
    }

    /// Returns the fault of a stream with at least `found` bytes of output.
    pub fn surplus(found: usize, expected: usize) -> Self {
        Self::sized(FaultKind::OutputSurplus, found, expected)
    }

    /// Returns the fault of an invalid stream, with the reason.
    pub fn corrupt(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FaultKind::Corrupt, found: 0, expected: 0, detail: detail.into() }
    }

    /// Returns the fault of a stream that uses an unsupported feature.
    pub fn unsupported(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FaultKind::Unsupported, found: 0, expected: 0, detail: detail.into() }
    }

    /// Returns the fault of a stream whose shape differs from the block's; `detail` names both.
    pub fn wrong_shape(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FaultKind::WrongShape, found: 0, expected: 0, detail: detail.into() }
    }

    /// Returns the fault of a wrong checksum.
    pub fn checksum(found: u64, expected: u64) -> Self {
        Self { kind: FaultKind::Checksum, found, expected, detail: Cow::Borrowed("") }
    }

    /// Returns the fault of a source that could not return the bytes of `span`.
    pub fn unreadable(span: Span, why: impl fmt::Display) -> Self {
        let detail = format!("{} bytes at offset {}: {why}", span.len, span.offset);
        Self { kind: FaultKind::Unreadable, found: 0, expected: span.len, detail: detail.into() }
    }

    /// Returns the fault of a source that ends before `span` does.
    pub fn past_the_end(span: Span) -> Self {
        Self::unreadable(span, "the file ends before their end")
    }

    fn sized(kind: FaultKind, found: usize, expected: usize) -> Self {
        Self { kind, found: found as u64, expected: expected as u64, detail: Cow::Borrowed("") }
    }
}

impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, expected) = (self.found, self.expected);
        match self.kind {
            FaultKind::InputTruncated if found == 0 && expected == 0 => {
                f.write_str("compressed data ends early")?;
            }
            FaultKind::InputTruncated => {
                write!(f, "compressed data ends early: expected {expected} decompressed bytes, got {found}")?;
            }
            FaultKind::OutputShort => write!(f, "expected {expected} decompressed bytes, got {found}")?,
            FaultKind::OutputSurplus => {
                write!(f, "decompresses to more than the expected {expected} bytes")?;
            }
            FaultKind::Checksum if found == 0 && expected == 0 => f.write_str("checksum does not match")?,
            FaultKind::Checksum => write!(f, "expected checksum {expected:#010x}, got {found:#010x}")?,
            FaultKind::Corrupt => f.write_str("compressed data is corrupt")?,
            FaultKind::WrongShape => f.write_str("compressed image does not fit the block")?,
            FaultKind::Unsupported => f.write_str("not supported")?,
            FaultKind::Unreadable => f.write_str("cannot be read")?,
            FaultKind::OutOfMemory => f.write_str("no memory for it")?,
            FaultKind::Unrepresentable => f.write_str("cannot be stored")?,
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// A fault and its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFault {
    /// Index of the source in the job.
    pub source: u32,
    /// Block.
    pub address: BlockAddress,
    /// Fault.
    pub fault: BlockFault,
}

impl fmt::Display for LocatedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockAddress { level, row, column, plane } = self.address;
        write!(f, "block (column {column}, row {row}")?;
        if plane > 0 {
            write!(f, ", plane {plane}")?;
        }
        f.write_str(")")?;
        if level > 0 {
            write!(f, " of level {level}")?;
        }
        write!(f, ": {}", self.fault)
    }
}
