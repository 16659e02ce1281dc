//! Statistics of numbers: extremes, mean, percentiles, histogram.

/// Percentiles that are reported.
pub(crate) const PERCENTILES: [u8; 7] = [2, 5, 25, 50, 75, 95, 98];
/// Bins of a histogram.
const BINS: usize = 256;

/// Statistics of the finite numbers.
pub(crate) struct Figures {
    pub(crate) sorted: Vec<f64>,
    pub(crate) missing: usize,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of at most a few million")]
impl Figures {
    pub(crate) fn of(values: impl Iterator<Item = f64>, count: usize) -> Self {
        let mut sorted: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let all = sorted.len().max(1) as f64;
        let mean = sorted.iter().map(|value| value / all).sum::<f64>();
        let deviation = sorted.iter().map(|value| (value - mean) * (value - mean) / all).sum::<f64>().sqrt();
        let (mean, deviation) = if sorted.is_empty() { (f64::NAN, f64::NAN) } else { (mean, deviation) };
        Self { missing: count.saturating_sub(sorted.len()), sorted, mean, deviation }
    }

    /// Returns the percentile, interpolated linearly.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the values")]
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let place = self.sorted.len().checked_sub(1)? as f64 * percent / 100.0;
        let at = |index: f64| self.sorted.get(index as usize).copied();
        let (below, above) = (at(place.floor())?, at(place.ceil())?);
        Some(below * (1.0 - place.fract()) + above * place.fract())
    }

    /// Returns the counts in 256 equal ranges from the smallest to the largest number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bin, saturated")]
    pub(crate) fn histogram(&self) -> Vec<u64> {
        let mut counts = vec![0; BINS];
        let Some((low, high)) = self.sorted.first().zip(self.sorted.last()) else { return counts };
        // Halved, because the span of two doubles can exceed the largest double.
        let span = high / 2.0 - low / 2.0;
        for value in &self.sorted {
            let share = if span > 0.0 { (value / 2.0 - low / 2.0) / span } else { 0.0 };
            let bin = ((share * BINS as f64) as usize).min(BINS - 1);
            if let Some(count) = counts.get_mut(bin) {
                *count += 1;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_finite_numbers() {
        let values = (0..=100).map(f64::from).chain([f64::NAN, f64::INFINITY]);
        let figures = Figures::of(values, 103);
        assert_eq!((figures.missing, figures.mean.round()), (2, 50.0));
        assert_eq!(figures.percentile(2.0), Some(2.0));
        assert_eq!(figures.percentile(50.0), Some(50.0));
        assert!((figures.deviation - 29.154_759_474_226_5).abs() < 1e-9);
        let histogram = figures.histogram();
        assert_eq!((histogram.iter().sum::<u64>(), histogram[0], histogram[255]), (101, 1, 1));
        let none = Figures::of(std::iter::empty(), 4);
        assert_eq!((none.percentile(50.0), none.missing), (None, 4));
        let far = Figures::of([f64::MIN, f64::MAX].into_iter(), 2);
        assert_eq!(far.histogram().iter().sum::<u64>(), 2);
    }
}
