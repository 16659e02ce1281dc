//! Operations of a complex VRT source: nodata and masks make pixels transparent, then values are scaled and looked up.
//! Works in single precision, or in double where GDAL does.

use crate::number::Number;

/// Operations of a complex source: nodata, scale and table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlendValues {
    /// Pixels with this value are transparent.
    pub nodata: Option<f64>,
    /// Whether pixels that are invalid in the source's mask are transparent.
    pub uses_mask: bool,
    /// Scaling of values.
    pub scaling: BlendScaling,
    /// Values, ascending (NaN first), and their results; interpolated in between.
    pub table: Vec<(f64, f64)>,
}

/// Scaling of values by a complex source.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum BlendScaling {
    /// No scaling.
    #[default]
    None,
    /// Multiply, then add.
    Linear {
        /// Addend.
        offset: f64,
        /// Factor.
        ratio: f64,
    },
    /// Relative position of a value in a range, raised to a power. Only the host computes it: results of other
    /// processors differ in the last digit.
    Power {
        /// Exponent.
        exponent: f64,
        /// Values that map to the ends of `to`.
        from: (f64, f64),
        /// Range of results.
        to: (f64, f64),
        /// Whether values outside `from` are clamped to the ends of `to`.
        clip: bool,
    },
}

impl BlendValues {
    /// Returns whether values are scaled.
    pub fn is_scaled(&self) -> bool {
        matches!(self.scaling, BlendScaling::Linear { offset, ratio } if (offset, ratio) != (0.0, 1.0))
    }

    /// Returns whether values are scaled or looked up.
    pub fn is_changed(&self) -> bool {
        self.scaling != BlendScaling::None || !self.table.is_empty()
    }

    /// Returns whether nodata is the only operation.
    pub fn is_only_nodata(&self) -> bool {
        *self == Self { nodata: self.nodata, ..Self::default() }
    }

    /// Returns whether values are raised to a power, which only the host computes.
    pub fn is_power(&self) -> bool {
        matches!(self.scaling, BlendScaling::Power { .. })
    }

    /// Returns the value that scaling gives every pixel, if it is constant: the pixels need not be read then.
    pub fn constant(&self) -> Option<f64> {
        match self.scaling {
            BlendScaling::Linear { offset, ratio }
                if ratio == 0.0 && self.nodata.is_none() && !self.uses_mask =>
            {
                Some(offset)
            }
            _ => None,
        }
    }

    /// Returns the result for a value, in the precision of the value.
    pub fn apply(&self, value: Number) -> Number {
        let is_double = matches!(value, Number::Double(_));
        let working = |v: f64| match is_double {
            true => Number::Double(v),
            false => Number::Single(single(v)),
        };
        let mut value = value;
        match self.scaling {
            BlendScaling::None => {}
            BlendScaling::Linear { offset, ratio } => value = working(value.as_f64() * ratio + offset),
            BlendScaling::Power { exponent, from, to, clip } => {
                let share = match from.0 == from.1 {
                    true => 0.0,
                    false => (value.as_f64() - from.0) / (from.1 - from.0),
                };
                // A NaN passes through, as in GDAL's comparisons.
                let share = if clip && share < 0.0 { 0.0 } else { share };
                let share = if clip && share > 1.0 { 1.0 } else { share };
                value = working((to.1 - to.0) * share.powf(exponent) + to.0);
            }
        }
        match self.table.is_empty() {
            true => value,
            false => working(look_up(&self.table, value.as_f64())),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to the working precision is the purpose")]
fn single(v: f64) -> f32 {
    v as f32
}

/// Returns the table entry of a value, or interpolates between its neighbours; beyond the table the first or last entry
/// applies.
fn look_up(table: &[(f64, f64)], value: f64) -> f64 {
    let rows = match table {
        [(from, to), rest @ ..] if from.is_nan() => {
            if value.is_nan() || rest.is_empty() {
                return *to;
            }
            rest
        }
        rows => rows,
    };
    let at = rows.partition_point(|&(from, _)| from < value);
    match (at.checked_sub(1).and_then(|before| rows.get(before)), rows.get(at)) {
        (None, Some(&(_, to))) | (Some(&(_, to)), None) => to,
        (Some(_), Some(&(from, to))) if from == value => to,
        (Some(&(x0, y0)), Some(&(x1, y1))) => y0 + (value - x0) * ((y1 - y0) / (x1 - x0)),
        (None, None) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_interpolated_and_end_flat() {
        let table = [(0.0, 10.0), (10.0, 20.0), (20.0, 0.0)];
        for (value, expected) in
            [(-5.0, 10.0), (0.0, 10.0), (5.0, 15.0), (10.0, 20.0), (15.0, 10.0), (99.0, 0.0)]
        {
            assert_eq!(look_up(&table, value), expected, "{value}");
        }
        assert_eq!(look_up(&[(f64::NAN, 7.0), (1.0, 2.0)], f64::NAN), 7.0);
        assert_eq!(look_up(&[(f64::NAN, 7.0), (1.0, 2.0)], 5.0), 2.0);
    }

    #[test]
    fn scaling_is_in_the_working_precision() {
        let scaled =
            BlendValues { scaling: BlendScaling::Linear { offset: 0.1, ratio: 2.0 }, ..Default::default() };
        assert_eq!(scaled.apply(Number::Single(1.0)), Number::Single(2.1));
        assert_eq!(scaled.apply(Number::Double(1.0)), Number::Double(2.1));
        let power = BlendScaling::Power { exponent: 2.0, from: (0.0, 10.0), to: (0.0, 100.0), clip: true };
        let power = BlendValues { scaling: power, ..Default::default() };
        assert_eq!(power.apply(Number::Double(5.0)), Number::Double(25.0));
        assert_eq!(power.apply(Number::Double(50.0)), Number::Double(100.0));
    }
}
