//! Curves that others published, and as much of them as a picture of ours can show.
//!
//! Rule: ours sets the scale. A published line leaves the picture where it leaves the scale, at
//! the very place where it would have, so what is drawn of it is true.

use super::axis::is_plottable;

#[derive(Debug, Clone)]
pub(super) struct Published {
    /// Name of the published series.
    pub name: String,
    points: Vec<(f64, f64)>,
}

impl Published {
    /// Points that cannot be drawn are left out; the line goes in the order of x.
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Published {
        let is_sound = |(x, y): &(f64, f64)| is_plottable(*x) && is_plottable(*y) && *x >= 0.0;
        let mut points: Vec<_> = points.into_iter().filter(is_sound).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Published { name: name.into(), points }
    }

    /// Places and values of the series.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The parts of the line that are neither right of `x` nor above `y`.
    pub fn within(&self, x: f64, y: f64) -> Vec<Vec<(f64, f64)>> {
        let turned = |parts: Vec<Vec<(f64, f64)>>| -> Vec<Vec<(f64, f64)>> {
            parts.into_iter().map(|part| part.into_iter().map(|(a, b)| (b, a)).collect()).collect()
        };
        let left = cut(&self.points, x);
        let low = turned(left).iter().flat_map(|part| cut(part, y)).collect();
        turned(low)
    }
}

/// The parts of the line through `points` whose first coordinate is at most `limit`.
fn cut(points: &[(f64, f64)], limit: f64) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut last: Option<(f64, f64)> = None;
    for &point in points {
        let is_in = point.0 <= limit;
        let crossing = last.filter(|last| (last.0 <= limit) != is_in);
        let crossing = crossing.map(|last| between(last, point, limit));
        if is_in && (last.is_none() || crossing.is_some()) {
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(crossing);
            part.extend(is_in.then_some(point));
        }
        last = Some(point);
    }
    parts
}

/// Where the line from `a` to `b` is at `limit`, which lies between them.
fn between(a: (f64, f64), b: (f64, f64), limit: f64) -> (f64, f64) {
    let share = ((limit - a.0) / (b.0 - a.0)).clamp(0.0, 1.0);
    (limit, a.1 + (b.1 - a.1) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_where_it_leaves_the_scale() {
        let line = Published::new("a", vec![(0.0, 10.0), (20.0, 30.0), (10.0, 20.0)]);
        let whole = vec![(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)];
        let table = [
            ((20.0, 30.0), vec![whole]),
            ((5.0, 30.0), vec![vec![(0.0, 10.0), (5.0, 15.0)]]),
            ((20.0, 15.0), vec![vec![(0.0, 10.0), (5.0, 15.0)]]),
            ((15.0, 20.0), vec![vec![(0.0, 10.0), (10.0, 20.0), (10.0, 20.0)]]),
            ((20.0, 9.0), vec![]),
        ];
        for ((x, y), want) in table {
            assert_eq!(line.within(x, y), want, "{x} {y}");
        }
    }

    #[test]
    fn what_comes_back_is_a_part_of_its_own() {
        let line = Published::new("a", vec![(0.0, 0.0), (1.0, 2.0), (2.0, 0.0)]);
        let sides = vec![vec![(0.0, 0.0), (0.5, 1.0)], vec![(1.5, 1.0), (2.0, 0.0)]];
        assert_eq!(line.within(2.0, 1.0), sides);
        assert!(Published::new("a", vec![(f64::NAN, 0.0), (-1.0, 0.0)]).points().is_empty());
    }
}
