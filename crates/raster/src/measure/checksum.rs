//! GDAL's checksum of a band (`GDALChecksumImage`): every number modulo one of eleven primes in turn, summed modulo
//! 2^16.

use crate::number::{is_float, reader};
use strile_tiff::DataType;

const PRIMES: [i32; 11] = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43];

/// The checksum of the rows added so far.
pub(super) struct Checksum {
    sum: i64,
    number: fn(&[u8]) -> f64,
    /// Bytes per number: half a sample if samples are complex.
    part: usize,
    whole: fn(f64) -> i32,
    /// Count of numbers added.
    at: usize,
}

impl Checksum {
    pub(super) fn new(data_type: DataType) -> Self {
        let part = match data_type {
            DataType::C64 | DataType::C128 => data_type.size() / 2,
            _ => data_type.size(),
        };
        let whole = if is_float(data_type) { of_float } else { of_integer };
        Self { sum: 0, number: reader(data_type), part, whole, at: 0 }
    }

    /// Adds samples that follow the previous ones, row by row.
    pub(super) fn add<'a>(&mut self, samples: impl Iterator<Item = &'a [u8]>) {
        for sample in samples {
            for number in sample.chunks_exact(self.part) {
                let prime = PRIMES.get(self.at % PRIMES.len()).copied().unwrap_or(7);
                self.sum += i64::from((self.whole)((self.number)(number)) % prime);
                self.at = (self.at + 1) % PRIMES.len();
            }
        }
        self.sum &= 0xffff;
    }

    pub(super) fn value(&self) -> u16 {
        u16::try_from(self.sum & 0xffff).unwrap_or(0)
    }
}

/// Clamps to the type. 64-bit integers that a double rounds are far outside of it.
#[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
fn of_integer(value: f64) -> i32 {
    value as i32
}

/// Converts like GDAL: adds half and rounds towards minus infinity. NaN and infinity become the smallest integer.
#[expect(clippy::cast_possible_truncation, reason = "inside of the range of the type")]
fn of_float(value: f64) -> i32 {
    match value + 0.5 {
        _ if !value.is_finite() => i32::MIN,
        v if v < -2_147_483_647.0 => -i32::MAX,
        v if v > 2_147_483_647.0 => i32::MAX,
        v => v.floor() as i32,
    }
}
