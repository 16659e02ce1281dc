//! Solves small, dense systems of linear equations.

use strile_tiff::InvalidValue;

/// A pivot below this fraction of the largest number in its column counts as 0.
const SINGULAR: f64 = 1e-12;

/// A matrix, row by row.
pub(super) struct Matrix {
    columns: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    /// Creates a matrix of zeros. Fails if there is no memory.
    pub(super) fn new(rows: usize, columns: usize) -> Result<Self, InvalidValue> {
        let len = rows.saturating_mul(columns);
        let mut numbers = Vec::new();
        numbers
            .try_reserve_exact(len)
            .map_err(|_| "no memory for the equations of control points".to_owned())?;
        numbers.resize(len, 0.0);
        Ok(Self { columns, numbers })
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        self.numbers.get(row * self.columns..(row + 1) * self.columns).unwrap_or_default()
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        self.numbers.get_mut(row * self.columns..(row + 1) * self.columns).unwrap_or_default()
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.row(row).get(column).copied().unwrap_or(0.0)
    }

    fn rows(&self) -> usize {
        self.numbers.len().checked_div(self.columns).unwrap_or(0)
    }

    /// Subtracts `factor` times row `of` from row `from`, from a column on.
    fn take(&mut self, from: usize, of: usize, factor: f64, column: usize) {
        let (low, high) = (from.min(of), from.max(of));
        let (before, behind) = self.numbers.split_at_mut(high * self.columns);
        let low = before.get_mut(low * self.columns..(low + 1) * self.columns).unwrap_or_default();
        let high = behind.get_mut(..self.columns).unwrap_or_default();
        let (to, of) = if from < of { (low, high) } else { (high, low) };
        for (to, of) in to.iter_mut().zip(of.iter()).skip(column) {
            *to -= factor * of;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        for column in 0..self.columns {
            self.numbers.swap(one * self.columns + column, other * self.columns + column);
        }
    }
}

/// Solves a square system for some right-hand sides, by elimination with the largest pivot of each column. Returns
/// `None` if there are no or many solutions. The right-hand sides are the columns of `right`; the solutions replace
/// them.
pub(super) fn solve(matrix: &mut Matrix, right: &mut Matrix) -> Option<()> {
    let size = matrix.rows();
    let largest = |matrix: &Matrix, column: usize| {
        (0..size).map(|row| matrix.at(row, column).abs()).fold(0.0, f64::max)
    };
    let scales: Vec<f64> = (0..size).map(|column| largest(matrix, column)).collect();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|a, b| matrix.at(*a, column).abs().total_cmp(&matrix.at(*b, column).abs()))?;
        let value = matrix.at(pivot, column);
        if !(value.is_finite() && value.abs() > SINGULAR * scales.get(column)?) {
            return None;
        }
        if pivot != column {
            matrix.swap(pivot, column);
            right.swap(pivot, column);
        }
        for row in column + 1..size {
            let factor = matrix.at(row, column) / value;
            if factor != 0.0 {
                matrix.take(row, column, factor, column);
                right.take(row, column, factor, 0);
            }
        }
    }
    for column in (0..size).rev() {
        let value = matrix.at(column, column);
        right.row_mut(column).iter_mut().for_each(|number| *number /= value);
        for row in 0..column {
            let factor = matrix.at(row, column);
            if factor != 0.0 {
                right.take(row, column, factor, 0);
            }
        }
    }
    right.numbers.iter().all(|number| number.is_finite()).then_some(())
}

/// Solves the linear least-squares problem of `matrix`, which has at least as many rows as columns, and the right-hand
/// sides `right` (Householder reflections). Returns `None` if there are many solutions.
pub(super) fn nearest(mut matrix: Matrix, mut right: Matrix) -> Option<Matrix> {
    let (rows, columns, sides) = (matrix.rows(), matrix.columns, right.columns);
    if rows < columns {
        return None;
    }
    for column in 0..columns {
        let square: f64 = (column..rows).map(|row| matrix.at(row, column).powi(2)).sum();
        let length = square.sqrt();
        let whole: f64 = (0..rows).map(|row| matrix.at(row, column).powi(2)).sum::<f64>().sqrt();
        if !(length.is_finite() && length > SINGULAR * whole) {
            return None;
        }
        let first = matrix.at(column, column);
        let turned = if first > 0.0 { -length } else { length };
        let mut across: Vec<f64> = (column..rows).map(|row| matrix.at(row, column)).collect();
        *across.first_mut()? = first - turned;
        let norm: f64 = across.iter().map(|number| number * number).sum();
        reflect(&mut matrix, &across, column, norm);
        reflect(&mut right, &across, column, norm);
    }
    let mut found = Matrix::new(columns, sides).ok()?;
    for side in 0..sides {
        for row in (0..columns).rev() {
            let known: f64 = (row + 1..columns).map(|at| matrix.at(row, at) * found.at(at, side)).sum();
            let number = (right.at(row, side) - known) / matrix.at(row, row);
            *found.row_mut(row).get_mut(side)? = number;
        }
    }
    found.numbers.iter().all(|number| number.is_finite()).then_some(found)
}

/// Reflects the rows from `first` on.
fn reflect(matrix: &mut Matrix, across: &[f64], first: usize, norm: f64) {
    if norm == 0.0 {
        return;
    }
    for column in 0..matrix.columns {
        let along: f64 =
            across.iter().zip(first..).map(|(number, row)| number * matrix.at(row, column)).sum();
        for (number, row) in across.iter().zip(first..) {
            if let Some(to) = matrix.row_mut(row).get_mut(column) {
                *to -= 2.0 * along / norm * number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> Matrix {
        let mut made = Matrix::new(rows.len(), rows[0].len()).unwrap();
        for (at, row) in rows.iter().enumerate() {
            made.row_mut(at).copy_from_slice(row);
        }
        made
    }

    #[test]
    fn systems_are_solved_or_refused() {
        let mut system = matrix(&[&[0.0, 2.0, 1.0], &[1.0, -2.0, -3.0], &[-1.0, 1.0, 2.0]]);
        let mut right = matrix(&[&[-8.0], &[0.0], &[3.0]]);
        solve(&mut system, &mut right).unwrap();
        for (found, expected) in right.numbers.iter().zip([-4.0, -5.0, 2.0]) {
            assert!((found - expected).abs() < 1e-12, "{:?}", right.numbers);
        }
        let mut flat = matrix(&[&[1.0, 2.0], &[2.0, 4.0]]);
        assert!(solve(&mut flat, &mut matrix(&[&[1.0], &[2.0]])).is_none());
    }

    #[test]
    fn the_line_nearest_to_points() {
        let found = nearest(
            matrix(&[&[1.0, 0.0], &[1.0, 1.0], &[1.0, 2.0], &[1.0, 3.0]]),
            matrix(&[&[1.0], &[3.0], &[4.0], &[8.0]]),
        );
        let found = found.unwrap().numbers;
        assert!((found[0] - 0.7).abs() < 1e-12 && (found[1] - 2.2).abs() < 1e-12, "{found:?}");
        let twice: &[&[f64]] = &[&[1.0, 2.0], &[1.0, 2.0], &[1.0, 2.0]];
        assert!(nearest(matrix(twice), matrix(&[&[1.0], &[2.0], &[3.0]])).is_none());
    }
}
