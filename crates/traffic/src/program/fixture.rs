//! Templates for tests: a constant one, and random valid ones of every kind.

use crate::stamp::{Expect, Stamp};
use crate::template::{Checksum, Draw, Field, Order, Size, Template, Values};

/// A stream of one size in which nothing varies.
pub fn plain(len: usize) -> Template {
    Template {
        name: "plain".into(),
        id: 1,
        weight: 1,
        bytes: (0..len).map(|at| at as u8 ^ 0x5a).collect(),
        headers: len.min(42),
        draws: vec![],
        fields: vec![],
        checksums: vec![],
        words: vec![],
        sizes: vec![Size { len, words: vec![], sums: vec![] }],
        size_draw: None,
        stamp: None,
    }
}

/// One to `most` streams; equal seeds produce equal streams.
pub fn random(seed: u64, most: u64) -> Vec<Template> {
    let mut dice = Dice(seed);
    let count = 1 + dice.below(most);
    (0..count).map(|id| template(&mut dice, id as u16)).collect()
}

/// Random numbers; equal seeds produce equal numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        z ^ (z >> 32)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// True once in `times` calls on average.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

fn template(dice: &mut Dice, id: u16) -> Template {
    let stamped = dice.once_in(2);
    let least = 14 + if stamped { Stamp::LEN as u64 } else { 0 };
    let room = if dice.once_in(8) { 1500 } else { 200 };
    let len = (least + dice.below(room)) as usize;
    let mut it = plain(len);
    it.name = format!("s{id}");
    it.id = id;
    it.weight = 1 + dice.below(4) as u32;
    it.bytes = (0..len).map(|_| dice.roll() as u8).collect();
    it.headers = dice.below(len as u64 + 1) as usize;
    it.stamp = stamped.then(|| if dice.once_in(2) { Expect::Pass } else { Expect::Drop });
    let sizes = if dice.once_in(3) { 1 + dice.below(6) } else { 1 };
    let size = |dice: &mut Dice| (least + dice.below(len as u64 + 1 - least)) as usize;
    it.sizes = (0..sizes).map(|_| blank(size(dice))).collect();
    if dice.once_in(2) {
        it.sizes[0] = blank(len);
    }
    it.draws = (0..1 + dice.below(4)).map(|_| draw(dice)).collect();
    if sizes > 1 {
        it.size_draw = Some(it.draws.len());
        it.draws.push(Draw { last: sizes - 1, order: order(dice) });
    }
    try_each(&mut it, dice, 8, field);
    try_each(&mut it, dice, 4, checksum);
    try_each(&mut it, dice, 3, |it, dice| {
        it.words.push(place(it, dice));
        it.sizes.iter_mut().for_each(|size| size.words.push(dice.roll() as u16));
    });
    it
}

fn blank(len: usize) -> Size {
    Size { len, words: vec![], sums: vec![] }
}

/// Makes up to `most` changes, undoing those that make the template invalid.
fn try_each(
    it: &mut Template,
    dice: &mut Dice,
    most: u64,
    change: impl Fn(&mut Template, &mut Dice),
) {
    for _ in 0..dice.below(most + 1) {
        let before = it.clone();
        change(it, dice);
        if it.check().is_err() {
            *it = before;
        }
    }
}

fn draw(dice: &mut Dice) -> Draw {
    let order = order(dice);
    let last = match (dice.below(4), order) {
        (_, Order::Zipf { .. }) => dice.below(40),
        (0, _) => u64::MAX >> dice.below(64),
        (1, _) => dice.below(1 << 32),
        _ => dice.below(20),
    };
    Draw { last, order }
}

fn order(dice: &mut Dice) -> Order {
    match dice.below(5) {
        0 | 1 => Order::Sequence,
        2 | 3 => Order::Random,
        _ => Order::Zipf { exponent: dice.below(30) as f64 / 10.0 },
    }
}

fn field(it: &mut Template, dice: &mut Dice) {
    let whole = dice.once_in(2);
    let bits = if whole { 8 << dice.below(4) } else { 1 + dice.below(64) };
    let bit_at = dice.below(it.bytes.len() as u64 * 8);
    let draw = dice.below(it.draws.len() as u64) as usize;
    let last = it.draws[draw].last;
    let values = if last < 64 && dice.once_in(2) {
        Values::List((0..=last).map(|_| dice.roll()).collect())
    } else {
        let shift = dice.below(64);
        let step = if dice.once_in(2) { 1 } else { dice.roll() >> shift };
        Values::Range { first: dice.roll() >> shift, step }
    };
    let name = format!("f{}", it.fields.len());
    let bit_at = if whole { bit_at & !7 } else { bit_at } as usize;
    it.fields.push(Field { name, bit_at, bits: bits as u32, draw, values });
}

fn checksum(it: &mut Template, dice: &mut Dice) {
    let from = place(it, dice);
    let at = from + 2 * dice.below(20) as usize;
    let to = dice.once_in(2).then(|| at + 2 + dice.below(60) as usize);
    let never_zero = dice.once_in(2);
    let mut sum = Checksum { at, from, to, also: vec![], never_zero };
    if dice.once_in(2) && !it.fields.is_empty() {
        sum.also.push(dice.below(it.fields.len() as u64) as usize);
    }
    it.checksums.push(sum);
    // Sometimes the value that makes the sum zero.
    let base = |dice: &mut Dice| if dice.once_in(4) { 0xffff } else { dice.roll() as u16 };
    it.sizes.iter_mut().for_each(|size| size.sums.push(base(dice)));
}

fn place(it: &Template, dice: &mut Dice) -> usize {
    let shortest = it.sizes.iter().map(|size| size.len).min().unwrap_or(0);
    dice.below(shortest as u64) as usize
}
