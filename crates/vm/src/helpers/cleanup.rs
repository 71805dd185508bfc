//! Cleanup after a run: releases the resources that it still holds.
//!
//! Rule: a resource that a run does not release (a lock, a disabled preemption, a reference) is
//! released when it ends, and is a fault, as the kernel's verifier would have refused the program.

use std::sync::atomic::Ordering::Release;

use super::release;
use crate::fault::{Cause, Fault, Leak};
use crate::processor::{Local, Processor, Sections};

/// Releases the resources that the run still holds. What the program threw is the result of the
/// run; a leak of a program that did not throw is a fault.
#[inline]
pub(crate) fn end_run(
    processor: &mut Processor,
    result: Result<u64, Box<Fault>>,
) -> Result<u64, Box<Fault>> {
    if is_clean(processor) { result } else { clean_up(processor, result) }
}

fn is_clean(processor: &Processor) -> bool {
    let Local { locks, sections, thrown, .. } = &processor.local;
    thrown.is_none()
        && locks.is_empty()
        && *sections == Sections::default()
        && !processor.objects.is_used()
        && processor.reservations.is_empty()
        && !processor.shared.directory.has_orphans()
}

fn clean_up(processor: &mut Processor, result: Result<u64, Box<Fault>>) -> Result<u64, Box<Fault>> {
    let thrown = processor.local.thrown.take();
    let result = result.or_else(|fault| thrown.ok_or(fault));
    let mut leak = reclaim(processor);
    release::end_orphans(processor);
    if processor.discard_records() {
        leak = Some(Leak::Record);
    }
    if let Some(address) = processor.local.locks.first().copied() {
        leak = Some(Leak::Lock { lock: processor.memory.describe(address) });
        unlock_all(processor);
    }
    let sections = std::mem::take(&mut processor.local.sections);
    if sections != Sections::default() {
        leak = Some(Leak::Section);
    }
    match (result, leak) {
        (Ok(_), Some(leak)) if thrown.is_none() => Err(Fault::new(Cause::Leak(leak))),
        (result, _) => result,
    }
}

/// Releases all objects that the finished run still owns; the first leak, if any.
fn reclaim(processor: &mut Processor) -> Option<Leak> {
    if !processor.objects.is_used() {
        return None;
    }
    let kind = processor.objects.clear();
    let mut leak = kind.map(|kind| Leak::Reference { kind: kind.name() });
    while let Some(address) = processor.objects.pop_owned() {
        leak.get_or_insert(Leak::Object);
        release::drop_object(processor, address);
    }
    leak
}

fn unlock_all(processor: &mut Processor) {
    while let Some(address) = processor.local.locks.pop() {
        if let Ok(word) = processor.memory.atomic32(address) {
            word.store(0, Release);
        }
    }
}
