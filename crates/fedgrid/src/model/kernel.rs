//! Kernels: how alike two rows are,
//!
//! ```text
//! Gaussian    K(x, z) = exp(−‖x − z‖² / 2 width²)
//! Laplace     K(x, z) = exp(−‖x − z‖ / width)
//! polynomial  K(x, z) = (xᵀz + offset)^degree
//! ```
//!
//! Each is positive semi-definite: `Σ_rs c_r c_s K(x_r, x_s) ≥ 0` for all numbers c.

use serde::{Deserialize, Serialize};

use super::solver::exponentials;
use crate::{
    algebra::dot,
    error::{Error, Result, at_least_zero},
};

/// A kernel. A width of zero stands for a width that the model takes from its rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kernel {
    /// A bell: smooth hypotheses that return to their level far from all rows.
    Gaussian {
        /// The distance at which likeness has fallen to exp(−½); zero takes it from the rows.
        width: f64,
    },
    /// A tip: rough hypotheses, with a kink at every row.
    Laplace {
        /// The distance at which likeness has fallen to exp(−1); zero takes it from the rows.
        width: f64,
    },
    /// All polynomials up to a degree.
    Polynomial {
        /// The degree, at least one; one is linear.
        degree: u32,
        /// How much lower degrees count, zero or more; zero leaves the highest only.
        offset: f64,
    },
}

impl Kernel {
    /// Refuses values out of range.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Gaussian { width } | Self::Laplace { width } => at_least_zero("width", width),
            Self::Polynomial { degree: 0, .. } => {
                Err(Error::Parameter { name: "degree", value: 0.0, expected: "one or more" })
            }
            Self::Polynomial { offset, .. } => at_least_zero("offset", offset),
        }
    }

    /// The same kernel with the given width where it has none yet.
    #[must_use]
    pub fn with_width(self, found: f64) -> Self {
        match self {
            Self::Gaussian { width: 0.0 } => Self::Gaussian { width: found },
            Self::Laplace { width: 0.0 } => Self::Laplace { width: found },
            known => known,
        }
    }

    /// Refuses a kernel whose width is not known, besides values out of range.
    pub(super) fn check_complete(self) -> Result<()> {
        self.check()?;
        match self {
            Self::Gaussian { width: 0.0 } | Self::Laplace { width: 0.0 } => {
                let expected = "a positive number in a learnt hypothesis";
                Err(Error::Parameter { name: "width", value: 0.0, expected })
            }
            _ => Ok(()),
        }
    }

    /// The likeness of two rows, given a width above zero.
    #[must_use]
    pub fn value(self, x: &[f64], z: &[f64]) -> f64 {
        match self {
            Self::Gaussian { width } => (-0.5 / (width * width) * squared_distance(x, z)).exp(),
            Self::Laplace { width } => (-squared_distance(x, z).sqrt() / width).exp(),
            Self::Polynomial { degree, offset } => (dot(x, z) + offset).powi(degree.cast_signed()),
        }
    }

    /// The likeness of one row to each of many, given one after the other: a row of the matrix K.
    pub fn row(self, x: &[f64], points: &[f64], likeness: &mut [f64]) {
        let all = likeness.iter_mut().zip(points.chunks_exact(x.len().max(1)));
        match self {
            Self::Gaussian { width } => {
                let share = -0.5 / (width * width);
                all.for_each(|(value, z)| *value = share * squared_distance(x, z));
                exponentials(likeness);
            }
            Self::Laplace { width } => {
                all.for_each(|(value, z)| *value = -squared_distance(x, z).sqrt() / width);
                exponentials(likeness);
            }
            Self::Polynomial { .. } => all.for_each(|(value, z)| *value = self.value(x, z)),
        }
    }
}

/// `‖x − z‖²`, from the differences, so that equal rows have distance zero.
pub(super) fn squared_distance(x: &[f64], z: &[f64]) -> f64 {
    x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum()
}

/// The sum of the weighted variances of all columns: half the mean of `‖x − z‖²` over two rows
/// drawn by their shares. It does not change when a row is split into copies.
pub(super) fn total_variance(points: &[f64], columns: usize, shares: &[f64]) -> f64 {
    let mean = super::solver::mean_of(points, columns, shares);
    let rows = points.chunks_exact(columns.max(1)).zip(shares);
    rows.map(|(x, share)| share * squared_distance(x, &mean)).sum()
}

/// A kernel as keys of a file, which stand side by side.
pub(super) mod keys {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Kernel;

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub(crate) struct KernelKeys {
        /// How alike two rows are.
        kernel: KernelName,
        /// The width of the kernel on scaled features; zero takes it from the rows.
        #[schemars(range(min = 0))]
        width: f64,
        /// For the polynomial kernel: its degree.
        #[schemars(range(min = 1))]
        degree: u32,
    }

    #[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum KernelName {
        #[default]
        Gaussian,
        Laplace,
        Polynomial,
    }

    impl Default for KernelKeys {
        fn default() -> Self {
            Self { kernel: KernelName::Gaussian, width: 0.0, degree: 2 }
        }
    }

    pub(crate) fn serialize<S: Serializer>(kernel: &Kernel, to: S) -> Result<S::Ok, S::Error> {
        let usual = KernelKeys::default();
        match *kernel {
            Kernel::Gaussian { width } => KernelKeys { width, ..usual },
            Kernel::Laplace { width } => KernelKeys { kernel: KernelName::Laplace, width, ..usual },
            Kernel::Polynomial { degree, .. } => {
                KernelKeys { kernel: KernelName::Polynomial, degree, ..usual }
            }
        }
        .serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kernel, D::Error> {
        let KernelKeys { kernel, width, degree } = KernelKeys::deserialize(from)?;
        Ok(match kernel {
            KernelName::Gaussian => Kernel::Gaussian { width },
            KernelName::Laplace => Kernel::Laplace { width },
            KernelName::Polynomial => Kernel::Polynomial { degree, offset: 1.0 },
        })
    }
}

/// The same of kernels that are nowhere negative: what means can be weighted by.
pub(super) mod weighting_keys {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};

    use super::Kernel;

    #[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub(crate) struct WeightingKernelKeys {
        /// How alike two rows are.
        kernel: WeightingKernelName,
        /// The width of the kernel on scaled features; zero takes it from the rows.
        #[schemars(range(min = 0))]
        width: f64,
    }

    #[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum WeightingKernelName {
        #[default]
        Gaussian,
        Laplace,
    }

    pub(crate) fn serialize<S: Serializer>(kernel: &Kernel, to: S) -> Result<S::Ok, S::Error> {
        let (kernel, width) = match *kernel {
            Kernel::Gaussian { width } => (WeightingKernelName::Gaussian, width),
            Kernel::Laplace { width } => (WeightingKernelName::Laplace, width),
            Kernel::Polynomial { .. } => {
                return Err(S::Error::custom("a polynomial kernel weighs no means"));
            }
        };
        WeightingKernelKeys { kernel, width }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kernel, D::Error> {
        let WeightingKernelKeys { kernel, width } = WeightingKernelKeys::deserialize(from)?;
        Ok(match kernel {
            WeightingKernelName::Gaussian => Kernel::Gaussian { width },
            WeightingKernelName::Laplace => Kernel::Laplace { width },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::Cholesky,
        random::{Purpose, Stream},
    };

    const KERNELS: [Kernel; 4] = [
        Kernel::Gaussian { width: 0.7 },
        Kernel::Laplace { width: 2.0 },
        Kernel::Polynomial { degree: 3, offset: 1.0 },
        Kernel::Polynomial { degree: 1, offset: 0.0 },
    ];

    #[test]
    fn kernel_matrices_of_random_points_are_positive_definite() {
        let (count, columns) = (40, 3);
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let points: Vec<f64> = (0..count * columns).map(|_| stream.normal()).collect();
        for kernel in KERNELS {
            let mut matrix = vec![0.0; count * count];
            for (row, x) in matrix.chunks_exact_mut(count).zip(points.chunks_exact(columns)) {
                kernel.row(x, &points, row);
            }
            let largest = (0..count).map(|r| matrix[r * count + r]).fold(0.0, f64::max);
            for r in 0..count {
                let bits = |row: usize, column: usize| matrix[row * count + column].to_bits();
                assert!((0..r).all(|s| bits(r, s) == bits(s, r)), "{kernel:?}");
                matrix[r * count + r] += 1e-12 * largest;
            }
            assert!(Cholesky::new(matrix, count).is_some(), "{kernel:?}");
        }
    }

    #[test]
    fn a_row_is_most_like_itself_and_likeness_falls_by_the_width() {
        let (x, z) = ([1.0, 2.0], [4.0, 6.0]);
        for (kernel, expected) in [
            (Kernel::Gaussian { width: 5.0 }, (-0.5_f64).exp()),
            (Kernel::Laplace { width: 5.0 }, (-1.0_f64).exp()),
            (Kernel::Polynomial { degree: 2, offset: 1.0 }, 289.0),
        ] {
            assert!((kernel.value(&x, &z) - expected).abs() < 1e-12);
        }
        assert_eq!(KERNELS.map(|kernel| kernel.check().is_ok()), [true; 4]);
        assert!((Kernel::Gaussian { width: 0.1 }.value(&x, &x) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn values_out_of_range_are_refused_and_a_width_is_found_only_where_none_is_given() {
        for kernel in [
            Kernel::Gaussian { width: -1.0 },
            Kernel::Laplace { width: f64::NAN },
            Kernel::Polynomial { degree: 0, offset: 1.0 },
            Kernel::Polynomial { degree: 2, offset: -1.0 },
        ] {
            assert!(kernel.check().is_err(), "{kernel:?}");
        }
        let open = Kernel::Gaussian { width: 0.0 };
        assert!(open.check().is_ok() && open.check_complete().is_err());
        assert_eq!(open.with_width(3.0), Kernel::Gaussian { width: 3.0 });
        assert_eq!(KERNELS.map(|kernel| kernel.with_width(3.0)), KERNELS);
    }

    #[test]
    fn total_variance_is_half_the_mean_squared_distance() {
        let (points, shares) = ([0.0, 1.0, 2.0, 5.0, -1.0, 3.0], [0.5, 0.2, 0.3]);
        let mut mean = 0.0;
        for (x, p) in points.chunks_exact(2).zip(shares) {
            for (z, q) in points.chunks_exact(2).zip(shares) {
                mean += p * q * squared_distance(x, z);
            }
        }
        assert!((total_variance(&points, 2, &shares) - mean / 2.0).abs() < 1e-12);
    }
}
