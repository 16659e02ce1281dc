//! One band of a sheet, and the samples in it.

use half::f16;
use strile_engine::{Fill, SharedPixels, WarpWindow};

/// Where a sample lies that there is not.
pub(super) const NOWHERE: usize = usize::MAX;

/// A place this little before the edge of a pixel lies in the next one.
pub(super) const HAIR: f64 = 1e-10;

/// The whole part of a place, which is at least 0 and below 2⁵¹.
pub(super) struct Whole {
    pub(super) index: i64,
    pub(super) number: f64,
}

impl Whole {
    /// Cuts the fraction off, without the conversions between integers and floats that are several instructions each.
    #[inline(always)]
    #[allow(clippy::cast_possible_wrap, reason = "below 2⁵²")]
    pub(super) fn of(place: f64) -> Self {
        /// A number whose neighbours are 1 apart: 2⁵².
        const SHIFT: f64 = 4_503_599_627_370_496.0;
        const FRACTION: u64 = (1 << 52) - 1;
        let nearest = (place + SHIFT) - SHIFT;
        let number = if nearest > place { nearest - 1.0 } else { nearest };
        Self { index: ((number + SHIFT).to_bits() & FRACTION) as i64, number }
    }
}

/// A real sample.
pub(super) trait Sample: Copy + PartialEq + 'static {
    /// Whether it is of at most 16 bits and whole: see `mode` in `warp.md`.
    const SHORT: bool;

    /// The sample at the start of `bytes`; 0 where they are too few.
    fn of(bytes: &[u8]) -> Self;
    fn value(self) -> f64;
    fn is_nan(self) -> bool;
    /// Its bits, in the lowest.
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
    /// A number that is larger for larger samples, and the same for equal ones.
    fn key(self) -> u64;
    fn of_key(key: u64) -> Self;
}

macro_rules! integers {
    ($($type:ty, $unsigned:ty, $flip:expr, $short:literal;)+) => {$(
        #[allow(
            clippy::cast_lossless,
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "bits are taken as they are, and numbers rounded to the nearest"
        )]
        impl Sample for $type {
            const SHORT: bool = $short;

            #[inline(always)]
            fn of(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| Self::from_ne_bytes(*bytes))
            }

            #[inline(always)]
            fn value(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                bits as $unsigned as Self
            }

            #[inline(always)]
            fn key(self) -> u64 {
                u64::from(self as $unsigned ^ $flip)
            }

            #[inline(always)]
            fn of_key(key: u64) -> Self {
                (key as $unsigned ^ $flip) as Self
            }
        }
    )+};
}

integers! {
    u8, u8, 0, true;
    i8, u8, 1 << 7, true;
    u16, u16, 0, true;
    i16, u16, 1 << 15, true;
    u32, u32, 0, false;
    i32, u32, 1 << 31, false;
    u64, u64, 0, false;
    i64, u64, 1 << 63, false;
}

macro_rules! floats {
    ($($type:ty, $bits:ty, $top:expr, $value:expr;)+) => {$(
        impl Sample for $type {
            const SHORT: bool = false;

            #[inline(always)]
            fn of(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(Self::from_bits(0), |bytes| Self::from_ne_bytes(*bytes))
            }

            #[inline(always)]
            fn value(self) -> f64 {
                $value(self)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the lowest bits are wanted")]
            fn of_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }

            #[inline(always)]
            fn key(self) -> u64 {
                const TOP: $bits = $top;
                // Zeros are equal.
                let bits = if self.to_bits() == TOP { 0 } else { self.to_bits() };
                u64::from(if bits & TOP == 0 { bits | TOP } else { !bits })
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "keys have as many bits")]
            fn of_key(key: u64) -> Self {
                const TOP: $bits = $top;
                let key = key as $bits;
                Self::from_bits(if key & TOP == 0 { !key } else { key & !TOP })
            }
        }
    )+};
}

floats! {
    f16, u16, 1 << 15, f16::to_f64;
    f32, u32, 1 << 31, f64::from;
    f64, u64, 1 << 63, |v| v;
}

/// Samples of a sheet that lie side by side. Columns and rows are the source's.
pub(super) struct Packed<'a, S> {
    bytes: &'a [u8],
    /// Bytes from row to row.
    row: usize,
    has_nodata: bool,
    nodata: S,
    left: i64,
    top: i64,
}

impl<'a, S: Sample> Packed<'a, S> {
    /// The bytes of samples of a row, from one that the sheet has.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the sheet")]
    pub(super) fn bytes(&self, x: i64, y: i64, count: usize) -> Option<&'a [u8]> {
        let start = (y - self.top) as usize * self.row + (x - self.left) as usize * size_of::<S>();
        self.bytes.get(start..start + count * size_of::<S>())
    }

    /// Two samples of a row, from one that the sheet has.
    #[inline(always)]
    pub(super) fn two(&self, x: i64, y: i64) -> Option<[S; 2]> {
        // Not by `array::from_fn` or `map`: those stay calls, one per sample.
        let (a, b) = self.bytes(x, y, 2)?.split_at(size_of::<S>());
        Some([S::of(a), S::of(b)])
    }

    /// Four samples of a row, from one that the sheet has.
    #[inline(always)]
    pub(super) fn four(&self, x: i64, y: i64) -> Option<[S; 4]> {
        let (ab, cd) = self.bytes(x, y, 4)?.split_at(2 * size_of::<S>());
        let ((a, b), (c, d)) = (ab.split_at(size_of::<S>()), cd.split_at(size_of::<S>()));
        Some([S::of(a), S::of(b), S::of(c), S::of(d)])
    }

    /// Whether a sample counts.
    #[inline(always)]
    pub(super) fn counts(&self, sample: S) -> bool {
        !(sample.is_nan() | self.is_nodata(sample))
    }

    /// Whether a sample is nodata. NaN is not asked for: it makes every number NaN that it is part of.
    #[inline(always)]
    pub(super) fn is_nodata(&self, sample: S) -> bool {
        // Not `&&`: asked of several, it is one branch.
        self.has_nodata & (sample == self.nodata)
    }
}

/// One band of the part of a source that a window is made from. Columns and rows are the source's.
pub(super) struct Sheet<'a, S> {
    bytes: &'a [u8],
    valid: Option<Valid<'a>>,
    /// Bytes from row to row and column to column.
    strides: (usize, usize),
    size: usize,
    nodata: Option<S>,
    /// First column and row, and those after the last.
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) right: i64,
    pub(super) bottom: i64,
    /// Columns and rows of the source.
    pub(super) source: (i64, i64),
}

/// Places from the first to before the last.
pub(super) struct Inside {
    low: (f64, f64),
    high: (f64, f64),
}

impl Inside {
    #[inline(always)]
    pub(super) fn has(&self, x: f64, y: f64) -> bool {
        (x >= self.low.0) & (x < self.high.0) & (y >= self.low.1) & (y < self.high.1)
    }
}

struct Valid<'a> {
    bytes: &'a [u8],
    strides: (usize, usize),
    size: usize,
}

impl<'a, S: Sample> Sheet<'a, S> {
    /// A band of a window; `None` where the pixels have none, which `WarpJob::check` refuses.
    pub(super) fn new(
        window: &WarpWindow,
        pixels: &'a SharedPixels,
        valid: Option<&'a SharedPixels>,
        band: u32,
    ) -> Option<Self> {
        let spec = pixels.spec();
        let start = (window.source_band.checked_add(band)? as usize).checked_mul(spec.strides.band)?;
        let valid = match valid {
            None => None,
            Some(valid) => {
                let spec = valid.spec();
                let start = (window.mask as usize).checked_mul(spec.strides.band)?;
                Some(Valid {
                    bytes: valid.bytes().get(start..)?,
                    strides: (spec.strides.row, spec.strides.column),
                    size: spec.data_type.size(),
                })
            }
        };
        let sheet = &window.sheet;
        let (left, top) = (i64::from(sheet.column), i64::from(sheet.row));
        let source = window.map.parts().source;
        Some(Self {
            bytes: pixels.bytes().get(start..)?,
            valid,
            strides: (spec.strides.row, spec.strides.column),
            size: spec.data_type.size(),
            nodata: window.nodata.map(|Fill(bytes)| S::of(&bytes)),
            left,
            top,
            right: left + i64::from(sheet.width),
            bottom: top + i64::from(sheet.height),
            source: (source.0.into(), source.1.into()),
        })
    }

    /// Its samples if they lie side by side and have no mask.
    pub(super) fn packed(&self) -> Option<Packed<'a, S>> {
        let is_packed = self.valid.is_none() && self.strides.1 == size_of::<S>();
        is_packed.then_some(Packed {
            bytes: self.bytes,
            row: self.strides.0,
            has_nodata: self.nodata.is_some(),
            nodata: self.nodata.unwrap_or_else(|| S::of_bits(0)),
            left: self.left,
            top: self.top,
        })
    }

    /// Returns the places with at least `before` pixels of the sheet before them and `behind` pixels behind them.
    #[allow(clippy::cast_precision_loss, reason = "at most 2³²")]
    pub(super) fn inside(&self, (before, behind): (i64, i64)) -> Inside {
        Inside {
            low: ((self.left + before) as f64, (self.top + before) as f64),
            high: ((self.right - behind) as f64, (self.bottom - behind) as f64),
        }
    }

    #[inline(always)]
    fn has(&self, x: i64, y: i64) -> bool {
        x >= self.left && x < self.right && y >= self.top && y < self.bottom
    }

    /// Where a sample lies that the sheet has.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the sheet")]
    fn offset(&self, x: i64, y: i64, strides: (usize, usize)) -> usize {
        (y - self.top) as usize * strides.0 + (x - self.left) as usize * strides.1
    }

    /// The sample in a column and row that the sheet has, whether it counts or not.
    #[inline(always)]
    pub(super) fn load(&self, x: i64, y: i64) -> S {
        self.at(self.offset(x, y, self.strides))
    }

    /// Where a sample begins in its band, if the sheet and the mask have it.
    #[inline(always)]
    pub(super) fn located(&self, x: i64, y: i64) -> usize {
        if self.has(x, y) && self.is_valid(x, y) { self.offset(x, y, self.strides) } else { NOWHERE }
    }

    /// The sample that begins there, whether it counts or not.
    #[inline(always)]
    pub(super) fn at(&self, offset: usize) -> S {
        S::of(self.bytes.get(offset..).unwrap_or_default())
    }

    /// Whether a sample counts.
    #[inline(always)]
    pub(super) fn counts(&self, sample: S) -> bool {
        // Not `&&`, which would branch for every sample.
        !(sample.is_nan() | self.nodata.is_some_and(|nodata| nodata == sample))
    }

    /// A sample that counts.
    #[inline(always)]
    pub(super) fn sample(&self, x: i64, y: i64) -> Option<S> {
        if !self.has(x, y) || !self.is_valid(x, y) {
            return None;
        }
        let sample = self.load(x, y);
        self.counts(sample).then_some(sample)
    }

    /// Whether the mask has a pixel that the sheet has.
    #[inline(always)]
    fn is_valid(&self, x: i64, y: i64) -> bool {
        match &self.valid {
            None => true,
            Some(valid) => {
                let bytes = valid.bytes.get(self.offset(x, y, valid.strides)..).unwrap_or_default();
                bytes.iter().take(valid.size).any(|byte| *byte != 0)
            }
        }
    }

    /// The bytes of a sample of any type that the mask has.
    pub(super) fn whole(&self, x: i64, y: i64) -> Option<&'a [u8]> {
        if !self.has(x, y) || !self.is_valid(x, y) {
            return None;
        }
        self.bytes.get(self.offset(x, y, self.strides)..)?.get(..self.size)
    }

    /// Whether the bytes of a sample are those of a value.
    pub(super) fn is(&self, sample: &[u8], Fill(value): &Fill) -> bool {
        value.get(..self.size) == Some(sample)
    }

    /// The pixel of the source that holds a place. One on the last edge belongs to the last pixel, and one a hair before
    /// an edge to the pixel behind it.
    #[inline(always)]
    pub(super) fn pixel(&self, x: f64, y: f64) -> Option<(i64, i64)> {
        #[inline(always)]
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "0 to 2³²")]
        fn index(place: f64, side: i64) -> i64 {
            let at = (place + HAIR) as i64;
            if at >= side { side - 1 } else { at }
        }
        #[allow(clippy::cast_precision_loss, reason = "at most 2³²")]
        let (width, height) = (self.source.0 as f64, self.source.1 as f64);
        let inside = x >= 0.0 && x <= width && y >= 0.0 && y <= height;
        inside.then(|| (index(x, self.source.0), index(y, self.source.1)))
    }
}
