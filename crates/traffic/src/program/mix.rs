//! Selects the next stream: a repeating order in which each stream appears according to its weight,
//! spread as evenly as possible.

use std::ops::Range;

use spec::asm::Reg::{R1, R2};
use spec::asm::{Cond, MemRef};

use super::draft::{Draft, ENDING, Table};
use crate::error::{ConfigError, Result};
use crate::template::Template;

/// The streams of one round, by their indices in the templates.
///
/// # Errors
/// [`ConfigError::Weights`] when the sum of the weights, divided by their greatest common divisor,
/// exceeds [`ROUND`].
pub fn order(templates: &[Template]) -> Result<Vec<u8>> {
    let weights: Vec<u64> = templates.iter().map(|it| u64::from(it.weight)).collect();
    let common = weights.iter().copied().fold(0, divisor).max(1);
    let round: u64 = weights.iter().map(|weight| weight / common).sum();
    if round > ROUND {
        return Err(ConfigError::Weights { round, max: ROUND }.into());
    }
    let mut credits = vec![0i64; weights.len()];
    let mut order = Vec::with_capacity(round as usize);
    for _ in 0..round {
        let shares = credits.iter_mut().zip(&weights);
        shares.for_each(|(credit, weight)| *credit += (weight / common) as i64);
        let richest = credits.iter().enumerate().rev().max_by_key(|(_, credit)| **credit);
        let Some((stream, _)) = richest else { break };
        credits[stream] -= round as i64;
        order.push(stream as u8);
    }
    Ok(order)
}

/// The selection of streams in a program.
pub(super) struct Mix {
    order: Table,
    round: usize,
    next: MemRef,
    /// The turn of streams that announce the end, independent of their weights.
    ends: Option<MemRef>,
}

impl Mix {
    pub fn new(draft: &mut Draft, order: &[u8], announces_end: bool) -> Self {
        let ends = announces_end.then(|| draft.word());
        Self { order: draft.table(order), round: order.len(), next: draft.word(), ends }
    }

    /// Selects the next stream, and executes the code that `write` writes for it, which must not
    /// fall through. Overwrites R1 and R2.
    pub fn pick(
        &self,
        draft: &mut Draft,
        streams: usize,
        write: &mut dyn FnMut(&mut Draft, usize),
    ) {
        let [data, known] = [(); 2].map(|()| draft.a.label());
        if let Some(ends) = self.ends {
            draft.a.note("stream whose end is announced").jump_if(ENDING, Cond::Eq, 0, data);
            take_turns(draft, ends, streams);
            draft.a.jump(known);
        }
        draft.a.note("which stream").bind(data);
        take_turns(draft, self.next, self.round);
        draft.table_address(R2, self.order);
        draft.a.add(R2, R1).load8(R1, R2.at(0)).bind(known);
        branch(draft, 0..streams, write);
    }
}

/// Counts R1 from 0 to `of` - 1, then from 0 again. Overwrites R2.
fn take_turns(draft: &mut Draft, turn: MemRef, of: usize) {
    let again = draft.a.label();
    draft.a.load64(R1, turn).jump_if(R1, Cond::Lt, of as i32, again).mov(R1, 0).bind(again);
    draft.a.mov(R2, R1).add(R2, 1).store64(turn, R2);
}

/// Branches by R1 to one of these streams. The code of each is at the end of its branch, so that no
/// jump spans more than half of all.
fn branch(draft: &mut Draft, streams: Range<usize>, write: &mut dyn FnMut(&mut Draft, usize)) {
    if streams.len() == 1 {
        write(draft, streams.start);
        return;
    }
    let middle = streams.start + streams.len() / 2;
    let upper = draft.a.label();
    draft.a.jump_if(R1, Cond::Ge, middle as i32, upper);
    branch(draft, streams.start..middle, write);
    draft.a.bind(upper);
    branch(draft, middle..streams.end, write);
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Most frames until the order repeats.
const ROUND: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::program::fixture::plain;

    fn of(weights: &[u32]) -> Vec<u8> {
        let stream = |weight: &u32| Template { weight: *weight, ..plain(60) };
        order(&weights.iter().map(stream).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn streams_take_turns_by_weight() {
        assert_eq!(of(&[1]), [0]);
        assert_eq!(of(&[1, 1, 1]), [0, 1, 2]);
        assert_eq!(of(&[3, 1]), [0, 0, 1, 0]);
        assert_eq!(of(&[200, 100]), [0, 1, 0]);
        assert_eq!(of(&[5, 1, 1]), [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn weights_with_a_long_round_are_rejected() {
        let stream = |weight| Template { weight, ..plain(60) };
        let error = order(&[stream(u32::MAX), stream(1 << 20)]).unwrap_err();
        assert!(matches!(error, Error::Config(ConfigError::Weights { .. })), "{error}");
    }
}
