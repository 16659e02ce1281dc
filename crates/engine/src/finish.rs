//! The last step of a read: changes samples and turns the image.
//!
//! Samples are changed first, each independently and bitwise, so that all engines agree; then the whole image is
//! turned. If samples keep their place and size, the step works in place and needs no other memory.

use crate::{EngineError, Fill, OutputSpec, Sought};
use strile_tiff::DataType;

/// How samples are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Change {
    /// Keep samples unchanged.
    #[default]
    Nothing,
    /// Flip this many low bits of every sample: `v` becomes `2^bits − 1 − v`.
    Invert(u16),
    /// Flip the sign of every sample (floats).
    Negate,
    /// Turn every sample into a byte: 0 if all its bytes are 0, else 255.
    NotZero,
    /// Turn every sample into a byte like GDAL's mask of an alpha band: 8-bit samples unchanged, unsigned 16-bit
    /// samples scaled to 8 bits (nonzero values stay nonzero), others as by `NotZero`.
    Alpha,
    /// Turn all bands into one byte per pixel: 0 if every band has the value, else 255. Only the real part of complex
    /// samples is compared. See [`Change::differs`].
    Differs(Sought),
}

impl Change {
    /// Returns the change that marks pixels which differ from `value`, a sample of that type. It is compared as a
    /// value: both zeros are equal, and NaN matches every NaN.
    pub fn differs(data_type: DataType, value: &Fill) -> Self {
        Self::Differs(Sought::new(compared(data_type), value))
    }

    /// Returns the type and number of bands after the change.
    pub fn gives(self, data_type: DataType, bands: u32) -> (DataType, u32) {
        match self {
            Self::Nothing | Self::Invert(_) | Self::Negate => (data_type, bands),
            Self::NotZero | Self::Alpha => (DataType::U8, bands),
            Self::Differs(_) => (DataType::U8, 1),
        }
    }

    /// Returns the value that `Differs` compares with, and the number of sample bytes compared. `None` for other
    /// changes.
    pub fn sought(self, data_type: DataType) -> Option<(Sought, usize)> {
        let Self::Differs(sought) = self else { return None };
        Some((sought, compared(data_type).size()))
    }

    /// Returns the bits that `Invert` and `Negate` flip in a sample of `size` bytes; 0 for other changes.
    pub fn flipped(self, size: usize) -> u64 {
        let most = 8 * size.min(8);
        let low = |bits: usize| if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        match self {
            Self::Invert(bits) => low(usize::from(bits).min(most)),
            Self::Negate => low(most) ^ low(most.saturating_sub(1)),
            Self::Nothing | Self::NotZero | Self::Alpha | Self::Differs(_) => 0,
        }
    }
}

/// Returns the type of the numbers that `Differs` compares.
fn compared(data_type: DataType) -> DataType {
    match data_type {
        DataType::C64 => DataType::F32,
        DataType::C128 => DataType::F64,
        other => other,
    }
}

/// How an image is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Rows and columns are swapped.
    pub swap: bool,
    /// The last row of the image comes first.
    pub flip_rows: bool,
    /// The last column of the image comes first.
    pub flip_columns: bool,
}

impl Turn {
    /// Returns the turn for a value of the TIFF tag Orientation, so that the tag's first row and column are at the top
    /// left.
    pub const fn of_orientation(orientation: u8) -> Self {
        let (flip_rows, flip_columns) = match orientation {
            2 | 8 => (false, true),
            3 | 7 => (true, true),
            4 | 6 => (true, false),
            _ => (false, false),
        };
        Self { swap: matches!(orientation, 5..=8), flip_rows, flip_columns }
    }

    /// Returns whether the image stays as it is.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Returns columns and rows of the turned image.
    pub fn size(self, (columns, rows): (u32, u32)) -> (u32, u32) {
        if self.swap { (rows, columns) } else { (columns, rows) }
    }
}

/// A last step: change samples, then turn the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FinishJob {
    /// Change of samples.
    pub change: Change,
    /// Turn of the image.
    pub turn: Turn,
}

impl FinishJob {
    /// Returns whether the job does nothing.
    pub fn is_nothing(&self) -> bool {
        self.change == Change::Nothing && self.turn.is_nothing()
    }

    /// Returns whether pixels of this type are changed in place.
    pub fn is_in_place(&self, data_type: DataType) -> bool {
        let same = match self.change {
            Change::Nothing | Change::Invert(_) | Change::Negate => true,
            Change::NotZero | Change::Alpha => data_type == DataType::U8,
            Change::Differs(_) => false,
        };
        same && self.turn.is_nothing()
    }

    /// Checks that the job turns pixels of the shape `from` into pixels of the shape `to`; in place if `from` is
    /// `None`.
    pub fn check(&self, from: Option<&OutputSpec>, to: &OutputSpec) -> Result<(), EngineError> {
        let mismatch =
            |found: String, expected: String| Err(EngineError::Mismatch { what: "pixels", found, expected });
        let Some(from) = from else {
            return match self.is_in_place(to.data_type) {
                true => Ok(()),
                false => {
                    mismatch("the output alone".to_owned(), "pixels to turn or to make a mask of".to_owned())
                }
            };
        };
        let (data_type, bands) = self.change.gives(from.data_type, from.bands);
        let (columns, rows) = self.turn.size((from.columns, from.rows));
        if (data_type, bands, rows, columns) == (to.data_type, to.bands, to.rows, to.columns) {
            return Ok(());
        }
        let shape = |data_type: DataType, bands: u32, rows: u32, columns: u32| {
            format!("{bands} × {rows} × {columns} {data_type}")
        };
        mismatch(shape(to.data_type, to.bands, to.rows, to.columns), shape(data_type, bands, rows, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_beyond_a_sample_are_left_alone() {
        assert_eq!(Change::Invert(4).flipped(1), 0xF);
        assert_eq!(Change::Invert(12).flipped(2), 0xFFF);
        assert_eq!(Change::Invert(99).flipped(1), 0xFF);
        assert_eq!(Change::Invert(64).flipped(8), u64::MAX);
        assert_eq!((Change::Invert(0).flipped(8), Change::Alpha.flipped(8)), (0, 0));
        assert_eq!([2, 4, 8].map(|size| Change::Negate.flipped(size)), [1 << 15, 1 << 31, 1 << 63]);
    }

    #[test]
    fn a_job_must_fit_both_shapes() {
        let spec = |data_type, bands, rows, columns| {
            OutputSpec::band_first(data_type, bands, rows, columns).unwrap()
        };
        let from = spec(DataType::I16, 3, 4, 5);
        let turned = FinishJob { turn: Turn::of_orientation(6), ..FinishJob::default() };
        assert!(turned.check(Some(&from), &spec(DataType::I16, 3, 5, 4)).is_ok());
        assert!(turned.check(Some(&from), &from).is_err() && turned.check(None, &from).is_err());
        let zero = Change::differs(DataType::I16, &Fill::default());
        let mask = FinishJob { change: zero, turn: Turn::of_orientation(3) };
        assert!(mask.check(Some(&from), &spec(DataType::U8, 1, 4, 5)).is_ok());
        assert!(mask.check(Some(&from), &spec(DataType::U8, 3, 4, 5)).is_err());
        let inverted = FinishJob { change: Change::Invert(3), ..FinishJob::default() };
        assert!(inverted.check(None, &from).is_ok());
        let alpha = FinishJob { change: Change::Alpha, ..FinishJob::default() };
        assert!(alpha.check(None, &from).is_err() && alpha.check(None, &spec(DataType::U8, 1, 4, 5)).is_ok());
    }
}
