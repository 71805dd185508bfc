//! A logarithmic axis: each tenfold takes the same length, and zero has a place of its own.
//!
//! Rule: `low < high` and both are finite; every value from zero on has a place between 0 and 1.

use super::axis::{LIMIT, is_plottable};

#[derive(Debug, Clone)]
pub(super) struct Logarithm {
    /// Powers of ten.
    low: f64,
    high: f64,
    /// Where `low` lies; what is before it belongs to zero.
    start: f64,
}

impl Logarithm {
    /// Over all `values`, of which negative ones do not count.
    pub fn over(values: impl Iterator<Item = f64>) -> Logarithm {
        let (mut low, mut high, mut start) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for value in values.filter(|value| is_plottable(*value) && *value >= 0.0) {
            if value < TINY {
                start = ZERO;
            } else {
                (low, high) = (low.min(value.log10()), high.max(value.log10()));
            }
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // Between 2 and 5 there is no tick; a wider axis always has one.
        let widening = (LEAST - (high - low)).max(0.0) / 2.0;
        Logarithm { low: low - widening, high: high + widening, start }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end.
    pub fn place(&self, value: f64) -> f64 {
        if value < TINY {
            return 0.0;
        }
        let along = ((value.log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.start + (1.0 - self.start) * along
    }

    /// Values and labels of the ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let apart = ((self.high - self.low) / TICKS).ceil().max(1.0) as usize;
        let steps: &[f64] = if self.high - self.low < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let ticks = powers.step_by(apart);
        let ticks = ticks.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        let inside = |tick: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(&tick.log10());
        let zero = (self.start > 0.0).then_some(0.0);
        zero.into_iter().chain(ticks.filter(inside)).map(|tick| (tick, label(tick))).collect()
    }
}

/// `20 k` without the space, because it stands at a tick.
fn label(value: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    match prefixes.iter().find(|(factor, _)| value >= factor * 0.9999) {
        _ if value == 0.0 => "0".into(),
        Some((factor, prefix)) if value < 1e15 => format!("{:.0}{prefix}", value / factor),
        None if value > 0.0009 => format!("{}", (value * 1e4).round() / 1e4),
        _ => format!("{value:.0e}"),
    }
}

/// What is less than this counts as zero.
const TINY: f64 = 1.0 / LIMIT;
/// What zero takes of the axis.
const ZERO: f64 = 0.08;
/// Powers of ten that an axis spans at least.
const LEAST: f64 = 0.5;
/// About how many powers of ten get a tick.
const TICKS: f64 = 7.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_powers_of_ten_or_steps_between_them() {
        let table: [(&[f64], &str); 8] = [
            (&[1.0, 20_000.0], "1 10 100 1k 10k"),
            (&[0.0, 100.0, 1e6], "0 100 1k 10k 100k 1M"),
            (&[3.0], "2 5"),
            (&[250.0, 4000.0], "500 1k 2k"),
            (&[0.01, 10.0], "0.01 0.1 1 10"),
            (&[1e-9, 1e12], "1e-9 1e-6 0.001 1 1k 1M 1G 1T"),
            (&[], "1 2 5 10"),
            (&[f64::NAN, -4.0, 1e300, 1.0, 10.0], "1 2 5 10"),
        ];
        for (values, want) in table {
            let ticks = Logarithm::over(values.iter().copied()).ticks();
            let labels: Vec<_> = ticks.into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels.join(" "), want, "{values:?}");
        }
    }

    #[test]
    fn each_tenfold_takes_the_same_length() {
        let axis = Logarithm::over([1.0, 1e4].into_iter());
        assert_eq!([1.0, 100.0, 1e4].map(|value| axis.place(value)), [0.0, 0.5, 1.0]);
        let axis = Logarithm::over([0.0, 1.0, 10.0].into_iter());
        assert_eq!([0.0, 1.0, 10.0].map(|value| axis.place(value)), [0.0, ZERO, 1.0]);
    }

    proptest! {
        #[test]
        fn every_place_is_on_the_axis(values in prop::collection::vec(any::<f64>(), 0..20)) {
            let axis = Logarithm::over(values.iter().copied());
            prop_assert!(axis.low < axis.high);
            let ticks = axis.ticks();
            prop_assert!((1..=40).contains(&ticks.len()), "{ticks:?}");
            for value in values.iter().filter(|value| is_plottable(**value)) {
                prop_assert!((0.0..=1.0).contains(&axis.place(*value)));
            }
        }
    }
}
