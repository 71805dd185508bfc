//! `bpf_user_ringbuf_drain`: records from user space, each passed to a callback as a dynptr.

use std::sync::Arc;

use spec::MapKind;
use spec::asm::Helper;

use super::dynptr::{Dynptr, Place};
use super::map::{map_at, no_map};
use super::{HelperRow, bad_argument, helper_row};
use crate::errno::Errno;
use crate::fault::{Cause, Fault};
use crate::interpreter;
use crate::maps::{Map, Next, Ring};
use crate::memory::offset;
use crate::objects::Kind;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[helper_row(Helper::USER_RINGBUF_DRAIN, drain)];

fn drain(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [pointer, callback, context, flags, _] = *args;
    let map = ring_of(processor, pointer)?;
    if flags & !(NO_WAKEUP | FORCE_WAKEUP) != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let Some(ring) = map.ring() else { return Err(no_map(NAME)) };
    let Some(_turn) = ring.reader() else { return Ok(Errno::EBUSY.in_r0()) };
    let null = Dynptr::NULL.to_bytes();
    let Some(dynptr) = processor.show(Kind::Dynptr, &null, false) else {
        return Err(Fault::new(Cause::TooManyObjects));
    };
    let call = Call { number: map.attributes().number, dynptr, callback, context };
    let drained = call.each(processor, ring);
    processor.fill_lent(dynptr, &null);
    drained.map(|drained| drained.unwrap_or_else(Errno::in_r0))
}

/// A callback for records.
struct Call {
    number: u32,
    /// Address of the dynptr that the callback receives.
    dynptr: u64,
    callback: u64,
    context: u64,
}

impl Call {
    /// Passes records to the callback until there are none or it stops; returns their number.
    fn each(
        &self,
        processor: &mut Processor,
        ring: &Ring,
    ) -> Result<Result<u64, Errno>, Box<Fault>> {
        let mut samples = 0;
        for _ in 0..SAMPLES {
            let place = match ring.next() {
                Next::Nothing | Next::Stuck(Errno::ENODATA) => break,
                Next::Stuck(errno) => return Ok(Err(errno)),
                Next::Discarded(end) => {
                    ring.consume(end);
                    continue;
                }
                Next::Record(place) => place,
            };
            if place.len > Dynptr::LONGEST {
                return Ok(Err(Errno::E2BIG));
            }
            let record = processor.show_record(self.number, &place);
            let record = record.ok_or_else(|| Fault::new(Cause::TooManyRecords))?;
            let shown = Dynptr::new(record, place.len, Place::Local);
            processor.fill_lent(self.dynptr, &shown.to_bytes());
            let enough = interpreter::call_back(
                processor,
                self.callback,
                [self.dynptr, self.context, 0, 0, 0],
            );
            processor.hide_record(record);
            ring.consume(place.end);
            samples += 1;
            if enough? != 0 {
                break;
            }
        }
        Ok(Ok(samples))
    }
}

/// The user ring buffer of an argument.
fn ring_of(processor: &Processor, pointer: u64) -> Result<Arc<Map>, Box<Fault>> {
    let map = map_at(&processor.maps, pointer).ok_or_else(|| no_map(NAME))?;
    if map.attributes().kind == MapKind::USER_RINGBUF {
        return Ok(Arc::clone(&processor.maps[offset(pointer) as usize]));
    }
    Err(bad_argument(NAME, 1, format!("`{}` is not a user ring buffer", map.attributes().name)))
}

const NAME: &str = "bpf_user_ringbuf_drain";
/// Maximum number of records of one call; the kernel's `BPF_MAX_USER_RINGBUF_SAMPLES`.
const SAMPLES: u32 = 128 << 10;
/// Flags that control the wakeup of user space; here they have no effect.
const NO_WAKEUP: u64 = 1;
const FORCE_WAKEUP: u64 = 2;
