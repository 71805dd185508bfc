//! The shapes that distinguish curves where colors do not.
//!
//! Rule: all shapes look equally large, and there is one more of them than colors, so that no
//! two of the first thirty curves look alike.

use super::canvas::{Area, Canvas};
use super::theme;

/// One shape at `at`, in the colour of `series`; a hollow one has a footnote.
pub(super) fn marker(canvas: &mut Canvas, series: usize, at: (f64, f64), is_hollow: bool) {
    let class = format!("{} {}", theme::colour(series), if is_hollow { "hollow" } else { "point" });
    let shape = match series % SHAPES {
        0 => return circle(canvas, &class, at),
        1 => [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)].as_slice(),
        2 => &[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
        3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        4 => &[(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
        _ => &[(-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)],
    };
    let points: Vec<_> =
        shape.iter().map(|(x, y)| (at.0 + x * RADIUS, at.1 + y * RADIUS)).collect();
    canvas.path(&class, &points, true);
}

fn circle(canvas: &mut Canvas, class: &str, (x, y): (f64, f64)) {
    let size = 2.0 * RADIUS;
    let area = Area { x: x - RADIUS, y: y - RADIUS, width: size, height: size };
    canvas.rect(class, area, RADIUS);
}

const SHAPES: usize = theme::COLOURS + 1;
const RADIUS: f64 = 5.5;
