//! Weights of kernels by the distance from the position. Products and sums are evaluated in the written order.

/// Kernel of a method that uses samples within a radius.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Linear,
    Cubic,
    Spline,
    Lanczos,
}

impl Kernel {
    pub(super) const fn radius(self) -> u32 {
        match self {
            Self::Linear => 1,
            Self::Cubic | Self::Spline => 2,
            Self::Lanczos => 3,
        }
    }

    /// Returns the weight at a distance, in pixels of the kernel.
    #[inline(always)]
    pub(super) fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Self::Linear => {
                if x <= 1.0 {
                    1.0 - x
                } else {
                    0.0
                }
            }
            Self::Cubic => {
                let square = x * x;
                if x <= 1.0 {
                    square * (1.5 * x - 2.5) + 1.0
                } else if x <= 2.0 {
                    square * (-0.5 * x + 2.5) - 4.0 * x + 2.0
                } else {
                    0.0
                }
            }
            // Six times the B-spline: dividing by the sum of weights compensates for it.
            Self::Spline => {
                if x <= 1.0 {
                    x * x * (3.0 * x - 6.0) + 4.0
                } else if x <= 2.0 {
                    (2.0 - x) * (2.0 - x) * (2.0 - x)
                } else {
                    0.0
                }
            }
            Self::Lanczos => lanczos(x),
        }
    }
}

/// Returns sin(πx) sin(πx/3) / (π²x²/3) for x from 0 to 3.
fn lanczos(x: f64) -> f64 {
    const SQUARE_OF_PI_BY_3: f64 = 3.289_868_133_696_453;
    if x == 0.0 {
        return 1.0;
    }
    if x >= 3.0 {
        return 0.0;
    }
    let sine = sine_of_pi(x / 3.0);
    let square = sine * sine;
    // sin(3a) = 3 sin(a) - 4 sin³(a).
    (3.0 - 4.0 * square) * square / (SQUARE_OF_PI_BY_3 * (x * x))
}

/// Returns sin(πt) for t from 0 to 1 by its power series: with an error of at most 2⁻⁵¹, identical on every processor.
fn sine_of_pi(t: f64) -> f64 {
    let a = std::f64::consts::PI * (if t > 0.5 { 1.0 - t } else { t });
    let square = a * a;
    let mut sum = 1.957_294_106_339_126e-20;
    for term in SERIES {
        sum = sum * square + term;
    }
    a * sum
}

/// (-1)ⁿ / (2n + 1)! for n from 9 down to 0; the sum begins with the term for 10.
const SERIES: [f64; 10] = [
    -8.220_635_246_624_33e-18,
    2.811_457_254_345_520_6e-15,
    -7.647_163_731_819_816e-13,
    1.605_904_383_682_161_3e-10,
    -2.505_210_838_544_172e-8,
    2.755_731_922_398_589_3e-6,
    -1.984_126_984_126_984e-4,
    8.333_333_333_333_333e-3,
    -0.166_666_666_666_666_66,
    1.0,
];

/// Returns the weights of four consecutive samples for a position at a fraction of the way from the second to the third
/// (Catmull-Rom).
#[inline(always)]
pub(super) fn four(x: f64) -> [f64; 4] {
    let half = 0.5 * x;
    let three = 3.0 * x;
    let half_square = half * x;
    [
        half * (-1.0 + x * (2.0 - x)),
        1.0 + half_square * (-5.0 + three),
        half * (1.0 + x * (4.0 - three)),
        half_square * (-1.0 + x),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sines_are_those_of_the_library() {
        for i in 0..=1000 {
            let t = f64::from(i) / 1000.0;
            assert!((sine_of_pi(t) - (std::f64::consts::PI * t).sin()).abs() < 5e-16, "{t}");
        }
        let sinc = |x: f64| (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x);
        for i in 1..300 {
            let x = f64::from(i) / 100.0;
            assert!((lanczos(x) - sinc(x) * sinc(x / 3.0)).abs() < 1e-15, "{x}");
        }
        assert_eq!((lanczos(0.0), lanczos(3.0)), (1.0, 0.0));
    }

    #[test]
    fn weights_add_up() {
        for i in 0..100 {
            let x = f64::from(i) / 100.0;
            assert!((four(x).iter().sum::<f64>() - 1.0).abs() < 1e-15);
            for (kernel, sum) in [(Kernel::Linear, 1.0), (Kernel::Cubic, 1.0), (Kernel::Spline, 6.0)] {
                let all: f64 = (-1..=2).map(|i| kernel.weight(f64::from(i) - x)).sum();
                assert!((all - sum).abs() < 1e-14, "{kernel:?} {x} {all}");
            }
        }
    }
}
