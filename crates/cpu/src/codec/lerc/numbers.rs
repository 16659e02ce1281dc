//! Packed numbers of a few bits each, lowest bits first, and their conversion to samples.

/// Bytes loaded for eight numbers: at most 31 that hold them, and as many as a load takes.
const WINDOW: usize = 40;

/// Returns the bytes of `count` numbers.
pub(super) fn packed_len(bits: u32, count: usize) -> usize {
    (bits as usize * count).div_ceil(8)
}

/// Unpacks numbers of `bits` bits, at most 31, from the beginning of `from`; zeros follow its end.
#[inline(always)]
pub(super) fn unpack(from: &[u8], bits: u32, numbers: &mut [u32]) {
    let mut rest = from;
    let (eights, last) = numbers.as_chunks_mut::<8>();
    for eight in eights {
        match rest.first_chunk() {
            Some(window) => *eight = unpack_eight(window, bits),
            None => *eight = unpack_eight(&padded(rest), bits),
        }
        rest = rest.get(bits as usize..).unwrap_or_default();
    }
    if !last.is_empty() {
        last.iter_mut().zip(unpack_eight(&padded(rest), bits)).for_each(|(to, number)| *to = number);
    }
}

#[inline(always)]
#[expect(
    clippy::indexing_slicing,
    reason = "seven numbers of 31 bits end in byte 27, and eight more are there"
)]
#[expect(clippy::cast_possible_truncation, reason = "at most 31 bits are left")]
fn unpack_eight(window: &[u8; WINDOW], bits: u32) -> [u32; 8] {
    let bits = bits as usize & 31;
    let mut numbers = [0; 8];
    for (i, number) in numbers.iter_mut().enumerate() {
        let (byte, bit) = (i * bits / 8, i * bits % 8);
        let mut word = [0; 8];
        word.copy_from_slice(&window[byte..byte + 8]);
        *number = (u64::from_le_bytes(word) >> bit) as u32 & ((1 << bits) - 1);
    }
    numbers
}

#[cold]
fn padded(from: &[u8]) -> [u8; WINDOW] {
    let mut window = [0; WINDOW];
    window.iter_mut().zip(from).for_each(|(to, &byte)| *to = byte);
    window
}

/// A sample type with its representation in memory.
pub(super) trait Sample: Copy {
    /// LERC's number for the type.
    const TYPE: u32;
    /// Whether samples are integers of at most 16 bits.
    const IS_SMALL: bool;
    type Bytes: Copy + Default;

    /// Truncates towards 0, and clamps to the range of the type.
    fn of_real(number: f64) -> Self;
    /// Converts a number in the range of the type.
    fn of_small(number: i32) -> Self;
    fn real(self) -> f64;
    fn bytes(self) -> Self::Bytes;
    /// Copies samples as stored, on a little-endian machine.
    fn copy(from: &[u8], to: &mut [Self::Bytes]);
}

macro_rules! sample {
    ($type:ty, $number:literal, $size:literal, $small:literal) => {
        impl Sample for $type {
            const TYPE: u32 = $number;
            const IS_SMALL: bool = $small;
            type Bytes = [u8; $size];

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            fn of_real(number: f64) -> Self {
                number as $type
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "in range, as the caller found"
            )]
            fn of_small(number: i32) -> Self {
                number as $type
            }

            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one way for all types")]
            fn real(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn bytes(self) -> [u8; $size] {
                self.to_ne_bytes()
            }

            #[inline(always)]
            fn copy(from: &[u8], to: &mut [[u8; $size]]) {
                to.iter_mut().zip(from.as_chunks().0).for_each(|(to, from)| *to = *from);
            }
        }
    };
}

sample!(i8, 0, 1, true);
sample!(u8, 1, 1, true);
sample!(i16, 2, 2, true);
sample!(u16, 3, 2, true);
sample!(i32, 4, 4, false);
sample!(u32, 5, 4, false);
sample!(f32, 6, 4, false);
sample!(f64, 7, 8, false);

/// Conversion from numbers to samples: a number of steps from the offset, limited by the largest sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) offset: f64,
    pub(super) step: f64,
    pub(super) most: f64,
}

impl Scale {
    /// Writes the samples for numbers of `bits` bits.
    #[inline(always)]
    pub(super) fn samples<T: Sample>(self, bits: u32, numbers: &[u32], out: &mut [T::Bytes]) {
        if let Some((offset, step, most)) = self.integers::<T>(bits) {
            for (to, &number) in out.iter_mut().zip(numbers) {
                *to = T::of_small((offset + number.cast_signed() * step).min(most)).bytes();
            }
            return;
        }
        // Numbers from the limit on give the largest sample, which need not be a whole number of steps from the
        // smallest.
        let limit =
            if self.step == 0.0 { f64::INFINITY } else { ((self.most - self.offset) / self.step).ceil() };
        for (to, &number) in out.iter_mut().zip(numbers) {
            let number = f64::from(number.cast_signed());
            let value = if number < limit { self.offset + number * self.step } else { self.most };
            *to = T::of_real(value).bytes();
        }
    }

    /// Returns the scale in integers if samples are small and no sum exceeds 32 bits.
    #[inline(always)]
    fn integers<T: Sample>(self, bits: u32) -> Option<(i32, i32, i32)> {
        if !T::IS_SMALL {
            return None;
        }
        let (offset, step, most) = (whole(self.offset)?, whole(self.step)?, whole(self.most)?);
        let largest = i64::from(offset) + ((1_i64 << bits) - 1) * i64::from(step);
        let is_sample = |value: f64| T::of_real(value).real() == value;
        let in_range = is_sample(self.most) && is_sample(self.offset);
        (step > 0 && largest <= i64::from(i32::MAX) && in_range).then_some((offset, step, most))
    }
}

/// Returns the number as a signed integer of 24 bits, if it is one.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "compared with the number")]
fn whole(number: f64) -> Option<i32> {
    let integer = number as i32;
    (f64::from(integer) == number && integer.unsigned_abs() < 1 << 24).then_some(integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacks_numbers_of_all_widths() {
        for bits in 0..32_u32 {
            for count in [1, 7, 8, 9, 64, 100] {
                let numbers: Vec<u32> =
                    (0..count).map(|i: u32| i.wrapping_mul(2_654_435_761) & ((1 << bits) - 1)).collect();
                let mut packed = vec![0_u8; packed_len(bits, numbers.len())];
                for (i, number) in numbers.iter().enumerate() {
                    for bit in (0..bits as usize).filter(|bit| number >> bit & 1 == 1) {
                        let at = i * bits as usize + bit;
                        packed[at / 8] |= 1 << (at % 8);
                    }
                }
                let mut found = vec![7; numbers.len()];
                unpack(&packed, bits, &mut found);
                assert_eq!(found, numbers, "{bits} bits");
                // The bytes after the numbers are ignored.
                packed.extend([0xFF; 64]);
                unpack(&packed, bits, &mut found);
                assert_eq!(found, numbers, "{bits} bits and more behind");
            }
        }
    }

    /// Integer arithmetic gives the same results as 64-bit floats.
    #[test]
    fn both_ways_to_samples_are_one() {
        let numbers: Vec<u32> = (0..1 << 12).collect();
        for offset in [-300.0, -1.0, 0.0, 5.0, 30_000.0] {
            for step in [1.0, 2.0, 7.0] {
                for most in [offset, offset + 1.0, offset + 1000.0, 32_767.0] {
                    let scale = Scale { offset, step, most };
                    assert!(scale.integers::<i16>(12).is_some());
                    let mut found = vec![[0; 2]; numbers.len()];
                    scale.samples::<i16>(12, &numbers, &mut found);
                    let mut expected = vec![[0; 4]; numbers.len()];
                    scale.samples::<i32>(12, &numbers, &mut expected);
                    for (found, expected) in found.into_iter().zip(expected) {
                        assert_eq!(
                            i32::from(i16::from_ne_bytes(found)),
                            i32::from_ne_bytes(expected),
                            "{scale:?}"
                        );
                    }
                }
            }
        }
        for outside in [70_000.0, 0.5, -40_000.0, f64::NAN] {
            assert!(Scale { offset: 0.0, step: 1.0, most: outside }.integers::<i16>(12).is_none());
            assert!(Scale { offset: outside, step: 1.0, most: 0.0 }.integers::<i16>(12).is_none());
        }
    }
}
