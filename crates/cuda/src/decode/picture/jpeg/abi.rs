//! Rust counterparts of `kernels/jpeg/jpeg_abi.h`, which says which bytes around them may be read and written.

#![expect(unsafe_code, reason = "structs as the bytes they are")]

use crate::abi::Plain;

/// Entries of all look-up tables of a scan together.
pub(super) const TABLE_ENTRIES: usize = 4096;
/// Bits of the first look-up.
pub(super) const FIRST_BITS: u32 = 9;
/// Entry for bits that do not begin a code.
pub(super) const NO_CODE: u16 = 0x01E8;
/// Maximum bytes of a piece.
pub(super) const MOST_PIECE: u32 = 192;
/// Minimum bytes of a piece, unless it is the only one of its interval.
pub(super) const LEAST_PIECE: u32 = 8;
/// Maximum data units of an MCU.
pub(super) const MOST_UNITS: usize = 10;
/// Bytes of a data unit's coefficients.
pub(super) const UNIT_LEN: u64 = 128;

/// `JpegPiece`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(super) struct JpegPiece {
    pub(super) begin: u32,
    pub(super) interval: u32,
}

/// `JpegScan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(super) struct JpegScan {
    pub(super) data: u64,
    pub(super) pieces: u64,
    pub(super) intervals: u64,
    pub(super) coefficients: u64,
    pub(super) differences: u64,
    pub(super) tables: u64,
    pub(super) data_len: u32,
    pub(super) piece_count: u32,
    pub(super) table_entries: u32,
    pub(super) units: u32,
    pub(super) mcu_units: u32,
    pub(super) interval_units: u32,
    pub(super) run_in: u32,
    pub(super) components: u32,
    pub(super) lookups: [u32; MOST_UNITS],
}

/// `JpegWay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum JpegWay {
    Same = 0,
    Across = 1,
    Down = 2,
    Both = 3,
    Repeated = 4,
}

/// `JpegPlane`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(super) struct JpegPlane {
    pub(super) coefficients: u64,
    pub(super) dc: u64,
    pub(super) samples: u64,
    pub(super) quantisation: u64,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) blocks_across: u32,
    pub(super) blocks_down: u32,
    pub(super) mcus_across: u32,
    pub(super) mcu_units: u32,
    pub(super) first_unit: u32,
    pub(super) units_across: u32,
    pub(super) units_down: u32,
    pub(super) way: u32,
    pub(super) repeats_across: u32,
    pub(super) repeats_down: u32,
}

/// `JpegPicture`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(super) struct JpegPicture {
    pub(super) dst: u64,
    pub(super) width: u32,
    pub(super) rows: u32,
    pub(super) components: u32,
    pub(super) is_ycbcr: u32,
    pub(super) scan_count: u32,
    pub(super) first_scan: u32,
    pub(super) status: u32,
    pub(super) reserved: u32,
    pub(super) planes: [JpegPlane; 4],
}

/// `JpegArgs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct JpegArgs {
    /// `JpegScan`s.
    pub scans: u64,
    /// `JpegPicture`s.
    pub pictures: u64,
    /// One `u32` per scan.
    pub faults: u64,
    /// One `u32` per picture.
    pub statuses: u64,
    /// Number of scans.
    pub scan_count: u32,
    /// Number of pictures.
    pub picture_count: u32,
}

const _: () = assert!(size_of::<JpegPiece>() == 8);
const _: () = assert!(size_of::<JpegScan>() == 120);
const _: () = assert!(size_of::<JpegPlane>() == 80);
const _: () = assert!(size_of::<JpegPicture>() == 360);
const _: () = assert!(size_of::<JpegArgs>() == 40);

// SAFETY: the fields fill the struct without padding, as asserted above.
unsafe impl Plain for JpegPiece {}
// SAFETY: as above.
unsafe impl Plain for JpegScan {}
// SAFETY: as above.
unsafe impl Plain for JpegPicture {}
