//! Minimum, maximum, mean and standard deviation of numbers that arrive in portions.

/// The moments of the numbers so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) count: u64,
    pub(super) minimum: f64,
    pub(super) maximum: f64,
    pub(super) mean: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, minimum: f64::INFINITY, maximum: f64::NEG_INFINITY, mean: 0.0, squares: 0.0 }
    }
}

impl Moments {
    /// Adds numbers, none of them NaN. Portions are merged by their means (Chan, Golub and LeVeque), so that rounding does
    /// not grow with the count.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(super) fn add(&mut self, numbers: &[f64]) {
        if numbers.is_empty() {
            return;
        }
        let (count, all) = (numbers.len() as f64, self.count as f64 + numbers.len() as f64);
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        for &number in numbers {
            self.minimum = self.minimum.min(number);
            self.maximum = self.maximum.max(number);
        }
        let apart = mean - self.mean;
        self.squares += squares + apart * apart * (self.count as f64) * count / all;
        self.mean = if self.count == 0 { mean } else { self.mean + apart * count / all };
        self.count += numbers.len() as u64;
    }

    /// Returns the standard deviation of the population, as GDAL does, not an estimate from a sample.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(super) fn deviation(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }
}
