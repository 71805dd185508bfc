//! Gaps between groups of frames of a Poisson process: an Erlang distribution, as a table of
//! equally likely values with a mean of one.

/// Binary logarithm of the number of values.
pub(super) const BITS: u32 = 12;
/// Fractional bits of a value.
pub(super) const FRACTION: u32 = 20;

/// The gaps between groups of `group` frames, in units of the mean gap, ascending.
pub(super) fn gaps(group: u32) -> Vec<u32> {
    let values = quantiles(f64::from(group));
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value / mean * f64::from(1 << FRACTION)).round() as u32).collect()
}

/// The middle of each of 2^BITS equally likely parts, from the sum of the density over a grid.
fn quantiles(shape: f64) -> Vec<f64> {
    let (from, to) = support(shape);
    let step = (to - from) / STEPS as f64;
    let peak = log_density(shape, (shape - 1.0).max(from));
    let density =
        |index: usize| (log_density(shape, from + step * (index as f64 + 0.5)) - peak).exp();
    let total: f64 = (0..STEPS).map(density).sum();
    let parts = 1usize << BITS;
    let (mut below, mut index) = (0.0, 0);
    let mut values = Vec::with_capacity(parts);
    for part in 0..parts {
        let wanted = (part as f64 + 0.5) / parts as f64 * total;
        while index + 1 < STEPS && below + density(index) < wanted {
            below += density(index);
            index += 1;
        }
        let share = ((wanted - below) / density(index)).clamp(0.0, 1.0);
        values.push(from + step * (index as f64 + share));
    }
    values
}

/// The interval that contains all but a millionth of the distribution.
fn support(shape: f64) -> (f64, f64) {
    let spread = 6.0 * shape.sqrt();
    ((shape - spread).max(0.0), shape + spread + 12.0)
}

/// Logarithm of the density, without its constant part.
fn log_density(shape: f64, x: f64) -> f64 {
    if shape == 1.0 { -x } else { (shape - 1.0) * x.ln() - x }
}

const STEPS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_and_the_variance_of_their_distribution() {
        for group in [1, 2, 16, 256] {
            let unit = f64::from(1 << FRACTION);
            let gaps: Vec<f64> = gaps(group).iter().map(|gap| f64::from(*gap) / unit).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let variance = square / gaps.len() as f64 * f64::from(group);
            assert!((mean - 1.0).abs() < 1e-5, "{group}: mean {mean}");
            assert!((variance - 1.0).abs() < 0.01, "{group}: variance {variance}");
        }
        let median = f64::from(gaps(1)[1 << (BITS - 1)]) / f64::from(1 << FRACTION);
        assert!((median - 2f64.ln()).abs() < 0.001, "{median}");
    }
}
