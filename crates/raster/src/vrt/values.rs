//! What a complex source does to its values: nodata and masks let what is below show, then values are scaled
//! and looked up. In single precision, or double where GDAL works in double.

use super::number::Number;

/// What a complex source does to values: scale, table and nodata.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Complex {
    /// Pixels of this value are transparent.
    pub(super) nodata: Option<f64>,
    /// Pixels that the source's mask calls invalid are transparent.
    pub(super) uses_mask: bool,
    pub(super) scaling: Scaling,
    /// Values, ascending (NaN first), and what they become; between them it is interpolated.
    pub(super) table: Vec<(f64, f64)>,
}

/// How values are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Scaling {
    #[default]
    None,
    Linear {
        offset: f64,
        ratio: f64,
    },
    Power {
        exponent: f64,
        from: (f64, f64),
        to: (f64, f64),
        clip: bool,
    },
}

impl Complex {
    /// Values are multiplied or moved.
    pub(super) fn is_scaled(&self) -> bool {
        matches!(self.scaling, Scaling::Linear { offset, ratio } if (offset, ratio) != (0.0, 1.0))
    }

    /// Values are scaled or looked up.
    pub(super) fn is_changed(&self) -> bool {
        self.scaling != Scaling::None || !self.table.is_empty()
    }

    /// Nothing but nodata.
    pub(super) fn is_only_nodata(&self) -> bool {
        *self == Self { nodata: self.nodata, ..Self::default() }
    }

    /// A source whose pixels need not be read: all of them become the offset.
    pub(super) fn constant(&self) -> Option<f64> {
        match self.scaling {
            Scaling::Linear { offset, ratio } if ratio == 0.0 && self.nodata.is_none() && !self.uses_mask => {
                Some(offset)
            }
            _ => None,
        }
    }

    /// A value in the working precision.
    pub(super) fn apply(&self, value: Number) -> Number {
        let is_double = matches!(value, Number::Double(_));
        let working = |v: f64| match is_double {
            true => Number::Double(v),
            false => Number::Single(single(v)),
        };
        let mut value = value;
        match self.scaling {
            Scaling::None => {}
            Scaling::Linear { offset, ratio } => value = working(value.as_f64() * ratio + offset),
            Scaling::Power { exponent, from, to, clip } => {
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

/// The entry of a value, or what lies between its neighbours; the ends go on beyond the table.
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

/// Equal but for the last digits, as GDAL compares reals with nodata.
pub(super) fn is_near(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => a == b,
        (Number::Single(a), Number::Single(b)) => {
            a == b || (a - b).abs() < f32::EPSILON * (a + b).abs() * 2.0
        }
        (a, b) => {
            let (a, b) = (a.as_f64(), b.as_f64());
            a == b || (a - b).abs() < f64::from(f32::EPSILON) * (a + b).abs() * 2.0
        }
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
        let scaled = Complex { scaling: Scaling::Linear { offset: 0.1, ratio: 2.0 }, ..Default::default() };
        assert_eq!(scaled.apply(Number::Single(1.0)), Number::Single(2.1));
        assert_eq!(scaled.apply(Number::Double(1.0)), Number::Double(2.1));
        let power = Scaling::Power { exponent: 2.0, from: (0.0, 10.0), to: (0.0, 100.0), clip: true };
        let power = Complex { scaling: power, ..Default::default() };
        assert_eq!(power.apply(Number::Double(5.0)), Number::Double(25.0));
        assert_eq!(power.apply(Number::Double(50.0)), Number::Double(100.0));
    }
}
