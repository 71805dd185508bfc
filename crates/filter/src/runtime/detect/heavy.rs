//! `Heavy`: the patterns with the most packets.
//!
//! Rule: shapes are processed one by one, so that memory is limited to that of the sample.

use std::collections::HashMap;

use super::sample::Rate;
use super::{Packet, Pattern, Shape};

/// A pattern with its traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heavy {
    pub pattern: Pattern,
    /// Index of its shape in [`Shape::ALL`].
    pub shape: usize,
    pub rate: Rate,
}

/// The busiest patterns of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Busy {
    pub shape: &'static str,
    pub most: Vec<Heavy>,
}

/// The `most` patterns of a shape with the most packets, in descending order.
pub(super) fn heaviest<'p>(
    packets: impl Iterator<Item = &'p (Packet, f64)>,
    shape: usize,
    most: usize,
) -> Vec<Heavy> {
    let mut counts: HashMap<Pattern, Rate> = HashMap::new();
    for (packet, weight) in packets {
        if let Some(pattern) = Pattern::of(packet, &Shape::ALL[shape]) {
            counts.entry(pattern).or_default().add(packet, *weight);
        }
    }
    let heavy = counts.into_iter().map(|(pattern, rate)| Heavy { pattern, shape, rate });
    let mut heavy: Vec<_> = heavy.collect();
    let order = |a: &Heavy, b: &Heavy| {
        let by_rate = b.rate.packets.total_cmp(&a.rate.packets);
        by_rate.then_with(|| a.pattern.words().cmp(&b.pattern.words()))
    };
    if heavy.len() > most {
        heavy.select_nth_unstable_by(most, |a, b| b.rate.packets.total_cmp(&a.rate.packets));
        heavy.truncate(most);
    }
    heavy.sort_by(order);
    heavy
}
