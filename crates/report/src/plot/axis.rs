//! A linear axis: round ticks, one prefix for all labels, and the way from value to place.
//!
//! Rule: `low < high` and both are finite, so every place is between 0 and 1. Values beyond
//! [`LIMIT`] are not plotted at all.

use crate::number::Scale;

#[derive(Debug, Clone)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    scale: Scale,
}

/// Beyond this magnitude a value counts as no number.
pub(super) const LIMIT: f64 = 1e24;

/// Maximum number of ticks on an axis, whatever is requested.
const TICKS_MAX: usize = 16;

/// Whether a figure can show `value`.
pub(super) fn is_plottable(value: f64) -> bool {
    value.is_finite() && value.abs() <= LIMIT
}

impl Axis {
    /// From zero, or below it, over all `values`, widened to whole ticks; about `count` of them.
    pub fn over(values: impl Iterator<Item = f64>, unit: &str, count: usize) -> Axis {
        let (low, high) = bounds(values.chain([0.0])).unwrap_or((0.0, 0.0));
        let high = if high - low < f64::MIN_POSITIVE { low + 1.0 } else { high };
        let step = round_step((high - low) / count as f64);
        let (low, up) = ((low / step).floor() * step, (high / step).ceil() * step);
        // Of shares, nothing is more than all.
        let high = if unit == "%" && high <= 100.0 { up.min(100.0) } else { up };
        Axis { low, high, step, scale: Scale::of(low.abs().max(high), unit) }
    }

    /// Exactly from the least to the greatest of `values`, as for time.
    pub fn exact(values: impl Iterator<Item = f64>, unit: &str, count: usize) -> Axis {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        // A span too small for the numbers themselves could not be divided into ticks.
        let least = (low.abs().max(high.abs()) * 1e-9).max(f64::MIN_POSITIVE * 1e3);
        let high = if high - low < least { low + least.max(1e-9) } else { high };
        let step = round_step((high - low) / count as f64);
        Axis { low, high, step, scale: Scale::of(low.abs().max(high.abs()), unit) }
    }

    /// Without ticks between whole numbers, for counts.
    pub fn in_whole_steps(mut self) -> Axis {
        self.step = self.step.max(1.0);
        self
    }

    /// The upper end of the axis.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end.
    pub fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Values and labels of the ticks; the labels are in [`Axis::unit`].
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step - 1e-6).ceil();
        let ticks = (0..TICKS_MAX).map(|index| (first + index as f64) * self.step);
        let inside = ticks.take_while(|value| *value <= self.high + self.step * 1e-6);
        inside.map(|value| (value, self.label(value))).collect()
    }

    /// The unit of the labels, with its prefix.
    pub fn unit(&self) -> &str {
        &self.scale.unit
    }

    fn label(&self, value: f64) -> String {
        let step = self.step / self.scale.factor;
        let decimals = (-(step * 1.0001).log10().floor()).clamp(0.0, 9.0) as usize;
        let label = format!("{:.decimals$}", value / self.scale.factor);
        if label.trim_start_matches(['-', '0', '.']).is_empty() { "0".into() } else { label }
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let plottable = values.filter(|value| is_plottable(*value));
    plottable.fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// The least of 1, 2, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * 0.9999);
    times.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        let table: [(&[f64], &str, &str, &str); 9] = [
            (&[9.94e6, 14.88e6], "pps", "Mpps", "0 5 10 15"),
            (&[783_063.0], "pps", "kpps", "0 200 400 600 800"),
            (&[12.3], "ns", "ns", "0 5 10 15"),
            (&[97.0, 100.0], "%", "%", "0 20 40 60 80 100"),
            (&[0.9], "x", "x", "0 0.2 0.4 0.6 0.8 1.0"),
            (&[-3.0, 3.0], "", "", "-4 -2 0 2 4"),
            (&[0.0], "pps", "pps", "0 0.2 0.4 0.6 0.8 1.0"),
            (&[], "", "", "0 0.2 0.4 0.6 0.8 1.0"),
            (&[f64::NAN, f64::INFINITY, 1e300, 2.0], "", "", "0 0.5 1.0 1.5 2.0"),
        ];
        for (values, unit, prefixed, want) in table {
            let axis = Axis::over(values.iter().copied(), unit, 5);
            assert_eq!((axis.unit(), labels(&axis).join(" ").as_str()), (prefixed, want));
        }
    }

    #[test]
    fn time_ends_where_it_ends() {
        let axis = Axis::exact([0.0, 31.0].into_iter(), "s", 6);
        assert_eq!(labels(&axis).join(" "), "0 10 20 30");
        assert_eq!(axis.place(31.0), 1.0);
    }

    proptest! {
        #[test]
        fn every_place_is_on_the_axis(values in prop::collection::vec(any::<f64>(), 0..20)) {
            for axis in [
                Axis::over(values.iter().copied(), "pps", 5),
                Axis::exact(values.iter().copied(), "s", 6),
            ] {
                prop_assert!(axis.low < axis.high);
                prop_assert!(!axis.ticks().is_empty() || axis.low != 0.0);
                prop_assert!(axis.ticks().len() < TICKS_MAX);
                for value in values.iter().filter(|value| is_plottable(**value)) {
                    prop_assert!((0.0..=1.0).contains(&axis.place(*value)));
                }
            }
        }
    }
}
