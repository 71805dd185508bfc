//! What a link does to a frame.

use std::collections::BTreeMap;

use super::Time;
use super::random::Random;
use super::segment::{SYN, Segment};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Lose,
    Twice,
    /// Delivered late, so that other frames overtake it.
    Late(Time),
}

/// Called once for each frame, in order, with the number of the frame, from 1.
pub type Fault = Box<dyn FnMut(u64, &Segment) -> Fate>;

pub fn none() -> Fault {
    Box::new(|_, _| Fate::Pass)
}

/// Every nth frame of any kind.
pub fn each(n: u64, fate: Fate) -> Fault {
    Box::new(move |number, _| if number.is_multiple_of(n) { fate } else { Fate::Pass })
}

/// This share of the frames, each independently.
pub fn share(seed: u64, share: f64, fate: Fate) -> Fault {
    let mut random = Random::new(seed);
    Box::new(move |_, _| if random.chance(share) { fate } else { Fate::Pass })
}

/// Frames by number, of any kind.
pub fn frames(chosen: impl IntoIterator<Item = u64>, fate: Fate) -> Fault {
    let chosen: Vec<u64> = chosen.into_iter().collect();
    Box::new(move |number, _| if chosen.contains(&number) { fate } else { Fate::Pass })
}

/// Data segments by number, from 1; retransmissions are counted, too.
pub fn data(chosen: impl IntoIterator<Item = u64>, fate: Fate) -> Fault {
    let chosen: Vec<u64> = chosen.into_iter().collect();
    let mut count = 0;
    Box::new(move |_, segment| {
        count += u64::from(!segment.payload.is_empty());
        let is_chosen = !segment.payload.is_empty() && chosen.contains(&count);
        if is_chosen { fate } else { Fate::Pass }
    })
}

/// The first `times` segments that carry one of these bytes of the stream (from 0), each.
pub fn bytes(chosen: impl IntoIterator<Item = u64>, times: u32, fate: Fate) -> Fault {
    let mut left: BTreeMap<u64, u32> = chosen.into_iter().map(|byte| (byte, times)).collect();
    let mut first = 0;
    Box::new(move |_, segment| {
        if segment.has(SYN) {
            first = segment.seq.wrapping_add(1);
        }
        let start = u64::from(segment.seq.wrapping_sub(first));
        let end = start + segment.payload.len() as u64;
        let Some((_, left)) = left.range_mut(start..end).find(|(_, left)| **left > 0) else {
            return Fate::Pass;
        };
        *left -= 1;
        fate
    })
}

/// The first `times` segments with this flag.
pub fn flagged(flag: u8, times: u64, fate: Fate) -> Fault {
    let mut count = 0;
    Box::new(move |_, segment| {
        count += u64::from(segment.has(flag));
        if segment.has(flag) && count <= times { fate } else { Fate::Pass }
    })
}

/// Applies a fault to some frames only, which are counted from 1.
pub fn between(first: u64, last: u64, mut fault: Fault) -> Fault {
    Box::new(move |number, segment| {
        let is_there = (first..=last).contains(&number);
        if is_there { fault(number - first + 1, segment) } else { Fate::Pass }
    })
}

/// Applies the first fault that does not pass the frame.
pub fn any(faults: Vec<Fault>) -> Fault {
    let mut faults = faults;
    Box::new(move |number, segment| {
        let fates: Vec<Fate> = faults.iter_mut().map(|fault| fault(number, segment)).collect();
        fates.into_iter().find(|fate| *fate != Fate::Pass).unwrap_or(Fate::Pass)
    })
}
