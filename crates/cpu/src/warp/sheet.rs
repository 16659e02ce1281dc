//! One band of a sheet, and access to its samples.

use half::f16;
use strile_engine::{Fill, SharedPixels, WarpWindow};

/// Offset of a sample that does not exist.
pub(super) const NOWHERE: usize = usize::MAX;

/// A position at most this far before the edge of a pixel counts as in the next pixel.
pub(super) const HAIR: f64 = 1e-10;

/// Integer part of a position that is at least 0 and below 2⁵¹.
pub(super) struct Whole {
    pub(super) index: i64,
    pub(super) number: f64,
}

impl Whole {
    /// Truncates a position without conversions between integers and floats, which take several instructions each.
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
    /// Whether this is an integer type of at most 16 bits: see `mode` in `warp.md`.
    const SHORT: bool;

    /// Returns the sample at the start of `bytes`; 0 if there are too few.
    fn of(bytes: &[u8]) -> Self;
    fn value(self) -> f64;
    fn is_nan(self) -> bool;
    /// Returns the bits of the sample, in the low bits.
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
    /// Returns a key with the order of the samples: larger for larger samples, equal for equal ones.
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
                // Both zeros are equal.
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

/// Samples of a sheet that are contiguous in a row. Columns and rows are the source's.
pub(super) struct Packed<'a, S> {
    bytes: &'a [u8],
    /// Bytes between rows.
    row: usize,
    has_nodata: bool,
    nodata: S,
    left: i64,
    top: i64,
}

impl<'a, S: Sample> Packed<'a, S> {
    /// Returns the bytes of samples of a row, from one inside the sheet.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the sheet")]
    pub(super) fn bytes(&self, x: i64, y: i64, count: usize) -> Option<&'a [u8]> {
        let start = (y - self.top) as usize * self.row + (x - self.left) as usize * size_of::<S>();
        self.bytes.get(start..start + count * size_of::<S>())
    }

    /// Returns two samples of a row, from one inside the sheet.
    #[inline(always)]
    pub(super) fn two(&self, x: i64, y: i64) -> Option<[S; 2]> {
        // Not with `array::from_fn` or `map`: those are not inlined and cost a call per sample.
        let (a, b) = self.bytes(x, y, 2)?.split_at(size_of::<S>());
        Some([S::of(a), S::of(b)])
    }

    /// Returns four samples of a row, from one inside the sheet.
    #[inline(always)]
    pub(super) fn four(&self, x: i64, y: i64) -> Option<[S; 4]> {
        let (ab, cd) = self.bytes(x, y, 4)?.split_at(2 * size_of::<S>());
        let ((a, b), (c, d)) = (ab.split_at(size_of::<S>()), cd.split_at(size_of::<S>()));
        Some([S::of(a), S::of(b), S::of(c), S::of(d)])
    }

    /// Returns whether a sample is valid.
    #[inline(always)]
    pub(super) fn counts(&self, sample: S) -> bool {
        !(sample.is_nan() | self.is_nodata(sample))
    }

    /// Returns whether a sample is nodata. NaN is not checked: it propagates to every number computed from it.
    #[inline(always)]
    pub(super) fn is_nodata(&self, sample: S) -> bool {
        // `&` instead of `&&`: checks of several samples become one branch.
        self.has_nodata & (sample == self.nodata)
    }
}

/// One band of the part of a source that a window is computed from. Columns and rows are the source's.
pub(super) struct Sheet<'a, S> {
    bytes: &'a [u8],
    valid: Option<Valid<'a>>,
    /// Bytes between rows and between columns.
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

/// Positions inside a range; the upper limits are excluded.
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
    /// Returns a band of a window; `None` if the pixels do not have it, which `WarpJob::check` rejects.
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

    /// Returns the samples if they are contiguous in rows and have no mask.
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

    /// Returns the positions with at least `before` pixels of the sheet before them and `behind` pixels after them.
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

    /// Returns the offset of a sample inside the sheet.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the sheet")]
    fn offset(&self, x: i64, y: i64, strides: (usize, usize)) -> usize {
        (y - self.top) as usize * strides.0 + (x - self.left) as usize * strides.1
    }

    /// Returns the sample in a column and row inside the sheet, valid or not.
    #[inline(always)]
    pub(super) fn load(&self, x: i64, y: i64) -> S {
        self.at(self.offset(x, y, self.strides))
    }

    /// Returns the offset of a sample in its band, if the sheet and the mask have it.
    #[inline(always)]
    pub(super) fn located(&self, x: i64, y: i64) -> usize {
        if self.has(x, y) && self.is_valid(x, y) { self.offset(x, y, self.strides) } else { NOWHERE }
    }

    /// Returns the sample at an offset, valid or not.
    #[inline(always)]
    pub(super) fn at(&self, offset: usize) -> S {
        S::of(self.bytes.get(offset..).unwrap_or_default())
    }

    /// Returns whether a sample is valid.
    #[inline(always)]
    pub(super) fn counts(&self, sample: S) -> bool {
        // `|` instead of `||`, which would branch for every sample.
        !(sample.is_nan() | self.nodata.is_some_and(|nodata| nodata == sample))
    }

    /// Returns a sample if it is valid.
    #[inline(always)]
    pub(super) fn sample(&self, x: i64, y: i64) -> Option<S> {
        if !self.has(x, y) || !self.is_valid(x, y) {
            return None;
        }
        let sample = self.load(x, y);
        self.counts(sample).then_some(sample)
    }

    /// Returns whether the mask has a pixel inside the sheet.
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

    /// Returns the bytes of a sample of any type if the mask has it.
    pub(super) fn whole(&self, x: i64, y: i64) -> Option<&'a [u8]> {
        if !self.has(x, y) || !self.is_valid(x, y) {
            return None;
        }
        self.bytes.get(self.offset(x, y, self.strides)..)?.get(..self.size)
    }

    /// Returns whether the bytes of a sample equal a value.
    pub(super) fn is(&self, sample: &[u8], Fill(value): &Fill) -> bool {
        value.get(..self.size) == Some(sample)
    }

    /// Returns the source pixel that contains a position. A position on the last edge belongs to the last pixel, and
    /// one within `HAIR` before an edge to the pixel after it.
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
