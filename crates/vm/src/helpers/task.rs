//! Helpers on the current task, which is the idle task, as when a driver's interrupt finds the
//! processor idle. It has no user memory, no control group except the root group, and receives no
//! signals.

use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::errno::Errno;
use crate::fault::{Cause, Fault};
use crate::memory::RegionId;
use crate::objects::Kind;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::GET_CURRENT_PID_TGID, zero),
    helper_row(Helper::GET_CURRENT_UID_GID, zero),
    helper_row(Helper::GET_CURRENT_COMM, name),
    helper_row(Helper::GET_CGROUP_CLASSID, zero),
    helper_row(Helper::GET_CURRENT_CGROUP_ID, |_, _| Ok(ROOT_GROUP)),
    helper_row(Helper::GET_CURRENT_ANCESTOR_CGROUP_ID, ancestor),
    helper_row(Helper::GET_CURRENT_TASK, address),
    helper_row(Helper::GET_CURRENT_TASK_BTF, pointer),
    helper_row(Helper::TASK_PT_REGS, registers),
    helper_row(Helper::GET_TASK_STACK, stack),
    helper_row(Helper::GET_NS_CURRENT_PID_TGID, in_namespace),
    helper_row(Helper::SEND_SIGNAL, signal),
    helper_row(Helper::SEND_SIGNAL_THREAD, signal),
    helper_row(Helper::FIND_VMA, find_vma),
    helper_row(Helper::GET_BRANCH_SNAPSHOT, branches),
];

/// The idle task is number 0 and runs as root.
fn zero(_: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(0)
}

fn name(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_get_current_comm";
    let [into, len, ..] = *args;
    let len = len as u32 as usize;
    processor.fill(NAME, 1, (into, len), 0)?;
    let text = format!("swapper/{}", processor.cpu);
    let shown = &text.as_bytes()[..text.len().min(len.saturating_sub(1))];
    let written = processor.memory.write(into, shown);
    written.map_err(|refused| processor.bad_memory(NAME, 1, (into, len, true))(refused))?;
    Ok(0)
}

fn ancestor(_: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(if args[0] as u32 == 0 { ROOT_GROUP } else { 0 })
}

/// A constant number that is not an address in memory.
fn address(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(RegionId::FUNCTIONS.at(IDLE_TASK + u64::from(processor.cpu)))
}

/// The first bytes of the task, all zero.
fn pointer(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    idle_task(processor)
}

fn registers(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    task(processor, "bpf_task_pt_regs", args[0])?;
    idle_task(processor)
}

fn stack(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    task(processor, "bpf_get_task_stack", args[0])?;
    processor.fill("bpf_get_task_stack", 2, (args[1], args[2] as u32 as usize), 0)?;
    Ok(Errno::EFAULT.in_r0())
}

/// No namespace has the requested number.
fn in_namespace(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let len = args[3] as u32 as usize;
    processor.fill("bpf_get_ns_current_pid_tgid", 3, (args[2], len), 0)?;
    Ok(Errno::EINVAL.in_r0())
}

/// Kernel threads receive no signals.
fn signal(_: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(Errno::EPERM.in_r0())
}

/// The idle task has no memory areas.
fn find_vma(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    task(processor, "bpf_find_vma", args[0])?;
    let errno = if args[4] == 0 { Errno::ENOENT } else { Errno::EINVAL };
    Ok(errno.in_r0())
}

/// The processor has no record of branches.
fn branches(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let len = args[1] as u32 as usize;
    processor.check_argument("bpf_get_branch_snapshot", 1, (args[0], len, true))?;
    let errno = if args[2] == 0 { Errno::ENOENT } else { Errno::EINVAL };
    Ok(errno.in_r0())
}

/// The task (and its registers), all zero; the same object each time.
fn idle_task(processor: &mut Processor) -> Result<u64, Box<Fault>> {
    let shown = processor.objects.shown(Kind::Task);
    let shown = shown.or_else(|| processor.show(Kind::Task, &[0; SHOWN], false));
    shown.ok_or_else(|| Fault::new(Cause::TooManyObjects))
}

fn task(processor: &Processor, function: &str, address: u64) -> Result<(), Box<Fault>> {
    let known = processor.lent(address, Kind::Task).is_some();
    if known { Ok(()) } else { Err(super::bad_argument(function, 1, "not a task")) }
}

/// Number of the root control group.
const ROOT_GROUP: u64 = 1;
/// An offset above every function, which cannot be read.
const IDLE_TASK: u64 = 1 << 39;
/// Bytes of a task that can be read.
const SHOWN: usize = 512;
