//! Locks and sections: spin locks in map values and objects, RCU, preemption, interrupts.
//!
//! Rule: a lock is a 32-bit word, 1 while held, so that workers and user space meet on it. A
//! worker holds one `bpf_spin_lock` at most, as the kernel's verifier wants; resilient locks may
//! nest, and answer errors instead of hanging.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, helper_row, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::limits;
use crate::maps::{FieldKind, relax};
use crate::worker::Worker;

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

fn lock(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_spin_lock";
    worker.check_field(NAME, 1, args[0], |kind| kind == FieldKind::SpinLock)?;
    if !worker.local.locks.is_empty() {
        return Err(Fault::refused("bpf_spin_lock: a lock is held already"));
    }
    if !worker.take(NAME, args[0])? {
        return Err(Fault::refused("bpf_spin_lock: the lock is never released"));
    }
    worker.local.locks.push(args[0]);
    Ok(0)
}

fn unlock(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.release_lock("bpf_spin_unlock", args[0])
}

fn resilient_lock(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_res_spin_lock";
    worker.check_field(NAME, 1, args[0], |kind| kind == FieldKind::ResSpinLock)?;
    if worker.local.locks.contains(&args[0]) {
        return Ok(int(Errno::EDEADLK));
    }
    if worker.local.locks.len() == LOCKS || !worker.take(NAME, args[0])? {
        worker.charge(u64::from(limits::SPINS) << 6)?;
        return Ok(int(Errno::ETIMEDOUT));
    }
    worker.local.locks.push(args[0]);
    Ok(0)
}

fn resilient_unlock(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.release_lock("bpf_res_spin_unlock", args[0])
}

fn resilient_lock_irqsave(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.store_u64("bpf_res_spin_lock_irqsave", 2, args[1], FLAGS)?;
    let answer = resilient_lock(worker, args)?;
    worker.local.sections.interrupts += u32::from(answer == 0);
    Ok(answer)
}

fn resilient_unlock_irqrestore(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    resilient_unlock(worker, args)?;
    irq_restore(worker, &[args[1], 0, 0, 0, 0])
}

fn rcu_lock(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.local.sections.rcu += 1;
    Ok(0)
}

fn rcu_unlock(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    leave(&mut worker.local.sections.rcu, "bpf_rcu_read_unlock")
}

fn preempt_disable(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.local.sections.preempt += 1;
    Ok(0)
}

fn preempt_enable(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    leave(&mut worker.local.sections.preempt, "bpf_preempt_enable")
}

fn irq_save(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.store_u64("bpf_local_irq_save", 1, args[0], FLAGS)?;
    worker.local.sections.interrupts += 1;
    Ok(0)
}

fn irq_restore(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_local_irq_restore";
    if worker.load_u64(NAME, 1, args[0])? != FLAGS {
        return Err(super::bad_argument(NAME, 1, "no interrupt flags were saved there"));
    }
    worker.store_u64(NAME, 1, args[0], 0)?;
    leave(&mut worker.local.sections.interrupts, NAME)
}

fn leave(depth: &mut u32, name: &str) -> Result<u64, Box<Fault>> {
    let left = depth.checked_sub(1);
    *depth = left.ok_or_else(|| Fault::refused(format!("{name}: nothing was entered")))?;
    Ok(0)
}

impl Worker {
    /// Takes the lock at `address`; `false` when it is not released for a very long time.
    fn take(&mut self, name: &str, address: u64) -> Result<bool, Box<Fault>> {
        self.check_argument(name, 1, (address, 4, true))?;
        let Ok(word) = self.memory.atomic32(address) else { return Err(misplaced(name)) };
        for attempt in 0..limits::SPINS {
            if word.compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok() {
                return Ok(true);
            }
            relax(attempt);
        }
        Ok(false)
    }

    fn release_lock(&mut self, name: &str, address: u64) -> Result<u64, Box<Fault>> {
        let held = self.local.locks.iter().rposition(|held| *held == address);
        let Some(held) = held else {
            return Err(super::bad_argument(name, 1, "that lock is not held"));
        };
        self.local.locks.remove(held);
        let Ok(word) = self.memory.atomic32(address) else { return Err(misplaced(name)) };
        word.store(0, Release);
        Ok(0)
    }
}

fn misplaced(name: &str) -> Box<Fault> {
    super::bad_argument(name, 1, "not an aligned lock")
}

/// Locks that a worker may hold at once; the kernel's resilient locks know as many.
pub(super) const LOCKS: usize = 31;
/// What saved interrupt flags look like: interrupts were on.
const FLAGS: u64 = 0x200;
