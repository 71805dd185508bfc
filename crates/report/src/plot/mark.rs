//! One horizontal bar with its whisker, and the grids of axes.
//!
//! Rule: bars start at zero; the bar ends at the median, the whisker spans min to max.

use super::axis::{Axis, is_plottable};
use super::canvas::{Anchor, Area, Canvas};
use crate::Stats;
use crate::number::{Scale, human};

/// `stats` if all of it can be drawn.
pub(super) fn drawable(stats: Option<Stats>) -> Option<Stats> {
    stats.filter(|stats| [stats.min, stats.median, stats.max].into_iter().all(is_plottable))
}

/// A bar in the row `area`, whose width is the axis.
pub(super) fn bar(canvas: &mut Canvas, class: &str, area: Area, axis: &Axis, stats: Stats) {
    let x = |value| area.x + area.width * axis.place(value);
    let (zero, end) = (x(0.0), x(stats.median));
    let (left, width) = (zero.min(end), (end - zero).abs().max(1.0));
    canvas.rect(class, Area { x: left, width, ..area }, 3.0);
    if stats.max > stats.min {
        whisker(canvas, (x(stats.min), x(stats.max)), area);
    }
}

fn whisker(canvas: &mut Canvas, (from, to): (f64, f64), area: Area) {
    let (middle, cap) = (area.y + area.height / 2.0, area.height * 0.28);
    for (a, b) in [
        ((from, middle), (to, middle)),
        ((from, middle - cap), (from, middle + cap)),
        ((to, middle - cap), (to, middle + cap)),
    ] {
        canvas.path("whisker", &[a, b], false);
    }
}

/// Grid lines through `area`, to be drawn before the bars.
pub(super) fn grid(canvas: &mut Canvas, area: Area, axis: &Axis) {
    for (value, _) in axis.ticks() {
        let x = area.x + area.width * axis.place(value);
        let class = if value.abs() < f64::MIN_POSITIVE { "base" } else { "grid" };
        canvas.path(class, &[(x, area.y), (x, area.bottom())], false);
    }
}

/// Grid lines across `area` with their labels at its left, for an axis that goes up.
pub(super) fn levels(canvas: &mut Canvas, area: Area, axis: &Axis) {
    for (value, label) in axis.ticks() {
        let y = area.bottom() - area.height * axis.place(value);
        let class = if value.abs() < f64::MIN_POSITIVE { "base" } else { "grid" };
        canvas.path(class, &[(area.x, y), (area.right(), y)], false);
        canvas.text("small soft", (area.x - 7.0, y + 5.0), Anchor::End, &label);
    }
}

/// Tick labels below `area`, the last with the unit. Returns the y of their end.
pub(super) fn labels(canvas: &mut Canvas, area: Area, axis: &Axis) -> f64 {
    let y = area.bottom() + 20.0;
    let ticks = axis.ticks();
    for (index, (value, label)) in ticks.iter().enumerate() {
        let x = area.x + area.width * axis.place(*value);
        let is_last = index + 1 == ticks.len();
        let (anchor, label) = match index {
            _ if is_last => (Anchor::End, format!("{label} {}", axis.unit())),
            0 => (Anchor::Start, label.clone()),
            _ => (Anchor::Middle, label.clone()),
        };
        canvas.text("small soft", (x, y), anchor, label.trim_end());
    }
    y + 6.0
}

/// What a bar stands for, in words: the median, and min to max where they differ.
pub(super) fn words(stats: Option<Stats>, unit: &str) -> (String, String) {
    let Some(stats) = stats else { return ("not measured".into(), String::new()) };
    let range = if stats.max > stats.min {
        let scale = Scale::of(stats.median, unit);
        format!("{} – {}", scale.digits(stats.min), scale.digits(stats.max))
    } else {
        String::new()
    };
    (human(stats.median, unit), range)
}
