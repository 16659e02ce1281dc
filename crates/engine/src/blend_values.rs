//! What a complex source of a VRT does to its values: nodata and masks let what is below show, then values are scaled
//! and looked up. In single precision, or double where GDAL works in double.

use crate::number::Number;

/// What a complex source does to values: nodata, scale and table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlendValues {
    /// Pixels of this value are transparent.
    pub nodata: Option<f64>,
    /// Pixels that the source's mask calls invalid are transparent.
    pub uses_mask: bool,
    /// How values are scaled.
    pub scaling: BlendScaling,
    /// Values, ascending (NaN first), and what they become; between them it is interpolated.
    pub table: Vec<(f64, f64)>,
}

/// How a complex source scales values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum BlendScaling {
    /// Not at all.
    #[default]
    None,
    /// Multiplied, then moved.
    Linear {
        /// Added.
        offset: f64,
        /// Multiplied by.
        ratio: f64,
    },
    /// The place of a value between two others, to a power. Only the host computes it: powers of other processors differ in
    /// the last digit.
    Power {
        /// The power.
        exponent: f64,
        /// The values that become the ends of `to`.
        from: (f64, f64),
        /// The range of results.
        to: (f64, f64),
        /// Whether values outside `from` become the ends of `to`.
        clip: bool,
    },
}

impl BlendValues {
    /// Returns whether values are multiplied or moved.
    pub fn is_scaled(&self) -> bool {
        matches!(self.scaling, BlendScaling::Linear { offset, ratio } if (offset, ratio) != (0.0, 1.0))
    }

    /// Returns whether values are scaled or looked up.
    pub fn is_changed(&self) -> bool {
        self.scaling != BlendScaling::None || !self.table.is_empty()
    }

    /// Returns whether there is nothing but nodata.
    pub fn is_only_nodata(&self) -> bool {
        *self == Self { nodata: self.nodata, ..Self::default() }
    }

    /// Returns whether values are raised to a power, which only the host does.
    pub fn is_power(&self) -> bool {
        matches!(self.scaling, BlendScaling::Power { .. })
    }

    /// Returns the value that all pixels become before they are looked up: such pixels need not be read.
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

    /// Returns what a value becomes, in the precision that it is given in.
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
