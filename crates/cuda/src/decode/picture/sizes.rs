//! Sizes of pictures in a flight, and the offsets of a batch's parts. Pure arithmetic with prefix sums.

use super::Need;
use crate::decode::batch::aligned;

/// Total sizes of some pictures in a flight; each part is rounded up like arenas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) pictures: u64,
    /// Tables of the decoder.
    pub(crate) tables: u64,
    /// Bytes that are written picture by picture.
    pub(crate) bytes: u64,
    pub(crate) decoded: u64,
    pub(crate) scratch: u64,
    /// Pixels on their way to the host.
    pub(crate) pixels: u64,
    /// Host memory that streams and pictures keep until the batch is done.
    pub(crate) held: u64,
}

impl Sizes {
    /// Returns the sizes of one picture.
    pub(crate) fn of(need: Need, decoded: u64, pixels: u64) -> Self {
        Self { pictures: 1, decoded: aligned(decoded), pixels: aligned(pixels), ..Self::fixed(need) }
    }

    /// Returns the sizes of a batch without pictures.
    pub(crate) fn fixed(need: Need) -> Self {
        let Need { bytes, tables, scratch } = need;
        Self { bytes: aligned(bytes), tables, scratch: aligned(scratch), ..Self::default() }
    }

    /// Returns the sum.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            pictures: self.pictures.saturating_add(other.pictures),
            tables: self.tables.saturating_add(other.tables),
            bytes: self.bytes.saturating_add(other.bytes),
            decoded: self.decoded.saturating_add(other.decoded),
            scratch: self.scratch.saturating_add(other.scratch),
            pixels: self.pixels.saturating_add(other.pixels),
            held: self.held.saturating_add(other.held),
        }
    }

    /// Returns the offsets in a flight; `place_len` returns the maximum bytes of the tables of `place` for a number of
    /// pictures.
    pub(crate) fn parts(&self, place_len: impl Fn(u64) -> u64) -> Parts {
        // The statuses are followed by a word that says whether a value was found.
        let place = aligned(self.pictures.saturating_add(1).saturating_mul(4));
        let tables = place.saturating_add(aligned(place_len(self.pictures)));
        let bytes = tables.saturating_add(aligned(self.tables));
        let decoded = bytes.saturating_add(self.bytes);
        let scratch = decoded.saturating_add(self.decoded);
        let pixels = scratch.saturating_add(self.scratch);
        Parts { place, tables, bytes, decoded, scratch, pixels, end: pixels.saturating_add(self.pixels) }
    }
}

/// Offsets in a flight. Statuses come first; everything before `decoded` is the upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) place: u64,
    pub(crate) tables: u64,
    pub(crate) bytes: u64,
    pub(crate) decoded: u64,
    pub(crate) scratch: u64,
    pub(crate) pixels: u64,
    pub(crate) end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_sums_are_those_of_their_pictures() {
        let one = Sizes::of(Need { bytes: 1, tables: 40, scratch: 300 }, 1000, 0);
        let other = Sizes::of(Need { bytes: 256, tables: 40, scratch: 0 }, 1, 77);
        let sum = Sizes::fixed(Need { bytes: 0, tables: 20, scratch: 1 }).plus(one).plus(other);
        let held = Sizes { held: 7, ..Sizes::default() };
        let sum = sum.plus(held);
        let whole =
            Sizes { pictures: 2, tables: 100, bytes: 512, decoded: 1280, scratch: 768, pixels: 256, held: 7 };
        assert_eq!(sum, whole);
        let parts = sum.parts(|pictures| pictures * 300);
        let expected = Parts {
            place: 256,
            tables: 256 + 768,
            bytes: 1280,
            decoded: 1792,
            scratch: 3072,
            pixels: 3840,
            end: 4096,
        };
        assert_eq!(parts, expected);
        let most = Sizes::of(Need { bytes: u64::MAX, tables: u64::MAX, scratch: 9 }, 1, 1);
        assert!(most.plus(most).parts(|_| 9).end > u64::MAX / 2);
    }
}
