//! Locks and sections: spin locks in map values and objects, RCU, preemption, interrupts.
//!
//! Rule: a lock is a 32-bit word, 1 while held, which processors and user space share. A processor
//! holds at most one `bpf_spin_lock`, as the kernel's verifier requires; resilient locks may nest,
//! and return errors instead of waiting forever.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, field, helper_row, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::{Cause, Fault};
use crate::limits;
use crate::maps::{FieldKind, relax};
use crate::processor::{LOCKS, Processor};

pub(super) const HELPERS: &[HelperRow] =
    &[helper_row(Helper::SPIN_LOCK, lock), helper_row(Helper::SPIN_UNLOCK, unlock)];

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_res_spin_lock", resilient_lock),
    kfunc_row("bpf_res_spin_unlock", resilient_unlock),
    kfunc_row("bpf_res_spin_lock_irqsave", resilient_lock_irqsave),
    kfunc_row("bpf_res_spin_unlock_irqrestore", resilient_unlock_irqrestore),
    kfunc_row("bpf_rcu_read_lock", rcu_lock),
    kfunc_row("bpf_rcu_read_unlock", rcu_unlock),
    kfunc_row("bpf_preempt_disable", preempt_disable),
    kfunc_row("bpf_preempt_enable", preempt_enable),
    kfunc_row("bpf_local_irq_save", irq_save),
    kfunc_row("bpf_local_irq_restore", irq_restore),
];

fn lock(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_spin_lock";
    field::check_field(processor, NAME, 1, args[0], |kind| kind == FieldKind::SpinLock)?;
    if !processor.local.locks.is_empty() {
        return Err(Fault::new(Cause::LockHeld));
    }
    if !take(processor, NAME, args[0])? {
        return Err(Fault::new(Cause::LockTimeout));
    }
    processor.local.locks.push(args[0]);
    Ok(0)
}

fn unlock(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    release_lock(processor, "bpf_spin_unlock", args[0])
}

fn resilient_lock(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_res_spin_lock";
    field::check_field(processor, NAME, 1, args[0], |kind| kind == FieldKind::ResSpinLock)?;
    if processor.local.locks.contains(&args[0]) {
        return Ok(int(Errno::EDEADLK));
    }
    if processor.local.locks.len() == LOCKS || !take(processor, NAME, args[0])? {
        processor.charge(u64::from(limits::SPINS) << 6)?;
        return Ok(int(Errno::ETIMEDOUT));
    }
    processor.local.locks.push(args[0]);
    Ok(0)
}

fn resilient_unlock(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    release_lock(processor, "bpf_res_spin_unlock", args[0])
}

fn resilient_lock_irqsave(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.store_u64("bpf_res_spin_lock_irqsave", 2, args[1], FLAGS)?;
    let answer = resilient_lock(processor, args)?;
    processor.local.sections.interrupts += u32::from(answer == 0);
    Ok(answer)
}

fn resilient_unlock_irqrestore(
    processor: &mut Processor,
    args: &[u64; 5],
) -> Result<u64, Box<Fault>> {
    resilient_unlock(processor, args)?;
    irq_restore(processor, &[args[1], 0, 0, 0, 0])
}

fn rcu_lock(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.local.sections.rcu += 1;
    Ok(0)
}

fn rcu_unlock(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    leave(&mut processor.local.sections.rcu, "bpf_rcu_read_unlock")
}

fn preempt_disable(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.local.sections.preempt += 1;
    Ok(0)
}

fn preempt_enable(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    leave(&mut processor.local.sections.preempt, "bpf_preempt_enable")
}

fn irq_save(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.store_u64("bpf_local_irq_save", 1, args[0], FLAGS)?;
    processor.local.sections.interrupts += 1;
    Ok(0)
}

fn irq_restore(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_local_irq_restore";
    if processor.load_u64(NAME, 1, args[0])? != FLAGS {
        return Err(super::bad_argument(NAME, 1, "not saved interrupt flags"));
    }
    processor.store_u64(NAME, 1, args[0], 0)?;
    leave(&mut processor.local.sections.interrupts, NAME)
}

fn leave(depth: &mut u32, function: &'static str) -> Result<u64, Box<Fault>> {
    let left = depth.checked_sub(1);
    *depth = left.ok_or_else(|| Fault::new(Cause::SectionNotEntered { function }))?;
    Ok(0)
}

/// Acquires the lock at `address`; `false` when it is not released within the limit.
fn take(processor: &mut Processor, name: &str, address: u64) -> Result<bool, Box<Fault>> {
    processor.check_argument(name, 1, (address, 4, true))?;
    let Ok(word) = processor.memory.atomic32(address) else { return Err(misplaced(name)) };
    for attempt in 0..limits::SPINS {
        if word.compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok() {
            return Ok(true);
        }
        relax(attempt);
    }
    Ok(false)
}

fn release_lock(processor: &mut Processor, name: &str, address: u64) -> Result<u64, Box<Fault>> {
    let held = processor.local.locks.iter().rposition(|held| *held == address);
    let Some(held) = held else {
        return Err(super::bad_argument(name, 1, "the lock is not held"));
    };
    processor.local.locks.remove(held);
    let Ok(word) = processor.memory.atomic32(address) else { return Err(misplaced(name)) };
    word.store(0, Release);
    Ok(0)
}

fn misplaced(name: &str) -> Box<Fault> {
    super::bad_argument(name, 1, "not an aligned lock")
}

/// Value of saved interrupt flags: interrupts were enabled.
const FLAGS: u64 = 0x200;
