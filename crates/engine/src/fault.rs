//! What can be wrong with one block. The numbers are fixed: kernels report them too.

use crate::{BlockAddress, Span};
use std::borrow::Cow;
use std::fmt;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum FaultKind {
    /// Compressed data ends before the block is complete.
    InputTruncated = 1,
    /// The stream ended properly, with fewer bytes than the block needs.
    OutputShort = 2,
    /// The stream holds more bytes than the block needs.
    OutputSurplus = 3,
    /// The checksum of the stream does not match.
    Checksum = 4,
    /// The stream has a code, header or reference that is not valid.
    Corrupt = 5,
    /// The stream's own size, depth or number of components is not the block's.
    WrongShape = 6,
    /// The stream uses something the decoder does not have.
    Unsupported = 7,
    /// The source could not give the bytes.
    Unreadable = 8,
    /// Memory for decoding could not be had within the budget.
    OutOfMemory = 9,
    /// A value to be written has no place in the stored sample.
    Unrepresentable = 10,
}

/// What is wrong with one block, without its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFault {
    /// The kind.
    pub kind: FaultKind,
    /// Bytes (or what the detail says) found.
    pub found: u64,
    /// The same, expected.
    pub expected: u64,
    /// More, in words: a clause without a full stop, or empty.
    pub detail: Cow<'static, str>,
}

impl BlockFault {
    /// The stream ended after `found` of `expected` bytes of output, for want of input.
    pub fn truncated(found: usize, expected: usize) -> Self {
        Self::sized(FaultKind::InputTruncated, found, expected)
    }

    /// The stream ended properly after `found` bytes of output.
    pub fn short(found: usize, expected: usize) -> Self {
        Self::sized(FaultKind::OutputShort, found, expected)
    }

    /// The stream holds at least `found` bytes of output.
    pub fn surplus(found: usize, expected: usize) -> Self {
        Self::sized(FaultKind::OutputSurplus, found, expected)
    }

    /// The stream is not valid, because of `detail`.
    pub fn corrupt(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FaultKind::Corrupt, found: 0, expected: 0, detail: detail.into() }
    }

    /// The decoder does not have what the stream uses.
    pub fn unsupported(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FaultKind::Unsupported, found: 0, expected: 0, detail: detail.into() }
    }

    /// The stream's shape is not the block's; `detail` names both.
    pub fn wrong_shape(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FaultKind::WrongShape, found: 0, expected: 0, detail: detail.into() }
    }

    /// The checksum found is not the one expected.
    pub fn checksum(found: u64, expected: u64) -> Self {
        Self { kind: FaultKind::Checksum, found, expected, detail: Cow::Borrowed("") }
    }

    /// The source could not give the bytes of `span`, because of `why`.
    pub fn unreadable(span: Span, why: impl fmt::Display) -> Self {
        let detail = format!("{} bytes at offset {}: {why}", span.len, span.offset);
        Self { kind: FaultKind::Unreadable, found: 0, expected: span.len, detail: detail.into() }
    }

    /// The source ends before `span` does.
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

/// A fault and the block it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFault {
    /// Index of the source in the job.
    pub source: u32,
    /// The block.
    pub address: BlockAddress,
    /// What is wrong.
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
