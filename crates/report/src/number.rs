//! Numbers for people: three significant digits, an SI prefix, a unit.
//!
//! Rule: a number is never shown with more digits than were measured, and never without its
//! unit. A unit may come with a prefix (`ns`, `Mpps`); it is folded into the number first.

/// A unit with the prefix that suits one magnitude: divide by `factor`, then write `unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The number that one unit with this prefix stands for.
    pub factor: f64,
    /// With its prefix (`Mpps`, `µs`, `k/s`), or empty.
    pub unit: String,
}

impl Scale {
    /// The prefix that brings `magnitude` (in `unit`) between 1 and 1000.
    pub fn of(magnitude: f64, unit: &str) -> Scale {
        if magnitude == 0.0 {
            return Scale { factor: 1.0, unit: unit.into() };
        }
        let (within, base) = folded(unit);
        let prefixes = prefixes_of(base);
        let size = magnitude.abs() * within;
        // 0.9995 and not 1: what would be written as 1000 is written as 1.00 of the next prefix.
        let fits = prefixes.iter().find(|(factor, _)| size >= factor * 0.9995);
        let (factor, prefix) = *fits.unwrap_or(&prefixes[prefixes.len() - 1]);
        Scale { factor: factor / within, unit: joined(prefix, base) }
    }
}

impl Scale {
    /// `value` without its unit. Whole numbers are printed without decimals if no prefix was
    /// applied.
    pub fn digits(&self, value: f64) -> String {
        if value == 0.0 {
            return "0".into();
        }
        let scaled = value / self.factor;
        if self.factor == 1.0 && scaled.fract() == 0.0 && scaled.abs() < 1000.0 {
            return scaled.to_string();
        }
        three_digits(scaled)
    }
}

/// `value`, measured in `unit`: `1.23 Mpps`, `14.9 M`, `672 Mbit/s`, `12.3 ns`, `93 %`, `5.22x`.
/// A value that is not a number is a dash.
pub fn human(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let scale = Scale::of(value, unit);
    let digits = scale.digits(value);
    match scale.unit.as_str() {
        "" => digits,
        "x" => format!("{digits}x"),
        unit => format!("{digits} {unit}"),
    }
}

fn three_digits(value: f64) -> String {
    let size = value.abs();
    if !(1e-6..1e15).contains(&size) {
        return format!("{value:.2e}");
    }
    let before = (size * 1.0005).log10().floor() as i32;
    format!("{value:.*}", (2 - before).max(0) as usize)
}

const UP: [(f64, &str); 7] =
    [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
const TIME: [(f64, &str); 4] = [(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
const NONE: [(f64, &str); 1] = [(1.0, "")];

/// Units that a prefix is written onto; before others it stands alone (`12 k transactions/s`).
const GLUED: [&str; 8] = ["pps", "bit/s", "B", "B/s", "Hz", "s", "/s", "tps"];

fn prefixes_of(base: &str) -> &'static [(f64, &'static str)] {
    match base {
        "s" => &TIME,
        "%" | "x" | "cycles" => &NONE,
        _ => &UP,
    }
}

/// What one of `unit` is in its base unit: `ns` is 1e-9 of `s`.
pub(crate) fn folded(unit: &str) -> (f64, &str) {
    let known = |base: &str| GLUED.contains(&base) && base != "/s";
    if known(unit) {
        return (1.0, unit);
    }
    let prefixes = [("n", 1e-9), ("µ", 1e-6), ("u", 1e-6), ("m", 1e-3), ("k", 1e3), ("M", 1e6)];
    let found = prefixes.iter().chain(&[("G", 1e9), ("T", 1e12)]).find_map(|(prefix, factor)| {
        unit.strip_prefix(prefix).filter(|base| known(base)).map(|base| (*factor, base))
    });
    found.unwrap_or((1.0, unit))
}

fn joined(prefix: &str, base: &str) -> String {
    if prefix.is_empty() || base.is_empty() || GLUED.contains(&base) {
        format!("{prefix}{base}")
    } else {
        format!("{prefix} {base}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        let table = [
            (1_234_567.0, "pps", "1.23 Mpps"),
            (14_880_952.0, "", "14.9 M"),
            (672e6, "bit/s", "672 Mbit/s"),
            (12.34, "ns", "12.3 ns"),
            (1234.0, "ns", "1.23 µs"),
            (0.25, "s", "250 ms"),
            (7200.0, "s", "7200 s"),
            (999.6, "pps", "1.00 kpps"),
            (999_950.0, "pps", "1.00 Mpps"),
            (9.996, "pps", "10.0 pps"),
            (1.5, "Mpps", "1.50 Mpps"),
            (1500.0, "Mpps", "1.50 Gpps"),
            (21_300.0, "/s", "21.3 k/s"),
            (850.0, "/s", "850 /s"),
            (21_300.0, "transactions/s", "21.3 k transactions/s"),
            (93.0, "%", "93 %"),
            (12_000.0, "cycles", "12000 cycles"),
            (5.2157, "x", "5.22x"),
            (41e6, "pps", "41.0 Mpps"),
            (0.0, "pps", "0 pps"),
            (-0.0, "ns", "0 ns"),
            (7.0, "", "7"),
            (0.123, "pps", "0.123 pps"),
            (-2500.0, "B", "-2.50 kB"),
            (f64::NAN, "pps", "-"),
            (f64::INFINITY, "pps", "-"),
        ];
        for (value, unit, want) in table {
            assert_eq!(human(value, unit), want, "{value} {unit}");
        }
    }

    proptest! {
        #[test]
        fn three_digits_are_within_half_a_percent(value in 1e-3f64..1e17) {
            let text = human(value, "");
            let (number, prefix) = text.split_once(' ').unwrap_or((&text, ""));
            let prefix = UP.iter().find(|(_, name)| *name == prefix).unwrap().0;
            let back = number.parse::<f64>().unwrap() * prefix;
            prop_assert!((back / value - 1.0).abs() <= 0.0051, "{value} became {text}");
        }

        #[test]
        fn any_number_and_unit_give_short_text(value in any::<f64>(), unit in "[a-zA-Z/%]{0,6}") {
            prop_assert!(human(value, &unit).len() < 40);
        }
    }
}
