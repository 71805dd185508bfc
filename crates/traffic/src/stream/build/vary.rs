//! Values that vary: the numbers that each frame draws, and fields computed from them.

use super::{Builder, Slot};
use crate::limits::{LIST, ZIPF};
use crate::stream::error::{FlowsError, Reason, ValueError};
use crate::stream::range::Numbers;
use crate::stream::value::{Order, Vary};
use crate::template::{self, Draw, Field, Values};

/// The draw that the fields of a flow share.
#[derive(Default)]
pub(super) struct FlowDraw {
    draw: Option<usize>,
    /// Number of flows after which all fields repeat.
    pub period: u128,
}

impl Builder<'_> {
    pub(super) fn vary(&mut self, slot: Slot, vary: &Vary) -> Result<(), Reason> {
        let numbers = Numbers::new(&vary.pool, vary.step, slot.kind, slot.bits)?;
        let order = match vary.order {
            Order::Flow => return self.of_flow(slot, &numbers),
            Order::Sequence => template::Order::Sequence,
            Order::Random => template::Order::Random,
            Order::Zipf(exponent) => template::Order::Zipf { exponent },
        };
        let draw = draw(numbers.last(), order)?;
        if numbers.last() == 0 {
            self.write(slot.bit, slot.bits, numbers.value(0));
            return Ok(());
        }
        self.draws.push(draw);
        self.place_numbers(slot, &numbers, self.draws.len() - 1)
    }

    /// The flow's number selects the value; with more flows than values, values repeat.
    fn of_flow(&mut self, slot: Slot, numbers: &Numbers) -> Result<(), Reason> {
        let (draw, count) = self.flow_draw()?;
        let values = numbers.last().saturating_add(1);
        self.flows.period = lcm(self.flows.period.max(1), values.min(count)).min(count);
        match numbers {
            Numbers::Range { first, step, .. } if values >= count => {
                let numbers = Numbers::Range { first: *first, step: *step, last: count - 1 };
                self.place_numbers(slot, &numbers, draw)
            }
            // A field that has only the bits that vary wraps automatically.
            Numbers::Range { first, step: 1, .. }
                if values.is_power_of_two() && first % values == 0 && values > 1 =>
            {
                let bits = values.trailing_zeros();
                self.write(slot.bit, slot.bits, *first);
                let bit = slot.bit + (slot.bits - bits) as usize;
                self.field(Slot { bit, bits, ..slot }, draw, 0, 1);
                Ok(())
            }
            _ if count <= LIST as u128 => {
                let all = (0..count).map(|flow| numbers.value(flow % values)).collect();
                self.place_numbers(slot, &Numbers::List(all), draw)
            }
            _ => Err(FlowsError::Values { values, count }.into()),
        }
    }

    /// The index of the flows' draw, and the number of flows.
    fn flow_draw(&mut self) -> Result<(usize, u128), Reason> {
        let flows = self.frames.flows.ok_or(FlowsError::NoFlows)?;
        let index = match self.flows.draw {
            Some(index) => index,
            None => {
                let last = flows.count.checked_sub(1).ok_or(FlowsError::ZeroCount)?;
                self.draws.push(draw(last.into(), flows.order()?)?);
                self.draws.len() - 1
            }
        };
        self.flows.draw = Some(index);
        Ok((index, flows.count.into()))
    }

    fn place_numbers(&mut self, slot: Slot, numbers: &Numbers, draw: usize) -> Result<(), Reason> {
        match numbers {
            Numbers::Range { first, last: 0, .. } => {
                self.write(slot.bit, slot.bits, *first);
                Ok(())
            }
            Numbers::Range { first, step, last } => {
                let end = first + u128::from(*step) * last;
                if first >> 64 != end >> 64 {
                    return Err(ValueError::HighBits.into());
                }
                let low = self.low_half(slot, *first);
                self.field(low, draw, *first as u64, *step);
                Ok(())
            }
            Numbers::List(list) => {
                let low = slot.bits.min(64);
                let of_low = list.iter().map(|value| *value as u64).collect();
                let high = slot.bits - low;
                if high > 0 {
                    let of_high = list.iter().map(|value| (value >> 64) as u64).collect();
                    self.list(Slot { bits: high, ..slot }, draw, of_high);
                }
                let bit = slot.bit + high as usize;
                self.list(Slot { bit, bits: low, ..slot }, draw, of_low);
                Ok(())
            }
        }
    }

    /// The last 64 bits of a slot; the bits before them are constant and written here.
    fn low_half(&mut self, slot: Slot, first: u128) -> Slot {
        let Some(high) = slot.bits.checked_sub(64).filter(|high| *high > 0) else {
            return slot;
        };
        self.write(slot.bit, high, first >> 64);
        Slot { bit: slot.bit + high as usize, bits: 64, ..slot }
    }

    /// Writes a list of equal values as constant bits.
    fn list(&mut self, slot: Slot, draw: usize, list: Vec<u64>) {
        match list[..] {
            [first, ref rest @ ..] if rest.iter().all(|value| *value == first) => {
                self.write(slot.bit, slot.bits, first.into());
            }
            _ => self.push(slot, draw, Values::List(list)),
        }
    }

    fn field(&mut self, slot: Slot, draw: usize, first: u64, step: u64) {
        self.push(slot, draw, Values::Range { first, step });
    }

    fn push(&mut self, slot: Slot, draw: usize, values: Values) {
        let bit_at = self.start * 8 + slot.bit;
        self.fields.push(Field { name: slot.name.into(), bit_at, bits: slot.bits, draw, values });
    }
}

fn draw(last: u128, order: template::Order) -> Result<Draw, ValueError> {
    let count = last.saturating_add(1);
    match order {
        template::Order::Zipf { .. } if count > ZIPF.into() => Err(ValueError::ZipfCount { count }),
        template::Order::Zipf { exponent } if !exponent.is_finite() || exponent < 0.0 => {
            Err(ValueError::ZipfExponent { exponent })
        }
        _ if last > u64::MAX.into() => Err(ValueError::TooManyBits),
        _ if last > u32::MAX.into() && !count.is_power_of_two() => {
            Err(ValueError::NotPowerOfTwo { count })
        }
        order => Ok(Draw { last: last as u64, order }),
    }
}

fn lcm(a: u128, b: u128) -> u128 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
