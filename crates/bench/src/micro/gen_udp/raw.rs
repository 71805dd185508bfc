//! The limit: live frames through a program that redirects them and does nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use kernel::{LiveRun, LoadOptions, Object};
use lab::Host;
use spec::asm::Reg::{R1, R2};
use spec::asm::{self, Assembler, Helper};
use spec::{Input, ProgramKind};
use sys::priority::Priority;
use sys::thread::Interruptible;

/// A thread that sends; ends when dropped.
pub struct Raw {
    over: Arc<AtomicBool>,
    handle: Interruptible,
    thread: Option<JoinHandle<Option<kernel::Result<()>>>>,
}

impl Raw {
    /// Sends the shortest Ethernet frames out of the host, from this processor.
    pub fn start(host: &Host, cpu: usize) -> Result<Self> {
        let object = object(host.ifindex(super::LINK)?.0)?;
        let over = Arc::new(AtomicBool::new(false));
        let (ready, answer) = mpsc::channel();
        let flag = Arc::clone(&over);
        let thread = host.spawn(move || {
            let prepared = prepare(cpu);
            let good = prepared.is_ok();
            // `start` waits for it; if it is gone there is nothing to send for.
            let asked = ready.send(prepared).is_ok();
            if good && asked { send(&object, &flag) } else { Ok(()) }
        })?;
        let handle = answer.recv().context("the sending thread ended before it began")??;
        Ok(Self { over, handle, thread: Some(thread) })
    }

    /// Whether the thread has not ended.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // A signal just before the call begins is lost, so it is sent until the thread has ended.
        while self.is_running() {
            // Refused only when it has ended.
            let _ = self.handle.interrupt();
            thread::sleep(Duration::from_millis(1));
        }
        // The measurement reported the failure: nothing arrived.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn prepare(cpu: usize) -> sys::Result<Interruptible> {
    sys::cpu::set_affinity(&[cpu])?;
    // As the generator's threads; refused without CAP_SYS_NICE.
    let _unsteady = Priority::Nice(-20).give(0);
    Interruptible::current()
}

fn send(object: &Object, over: &AtomicBool) -> kernel::Result<()> {
    let program = object.program(RAW)?;
    let input = Input { packet: vec![0; 60], ..Input::default() };
    let live = LiveRun { input, count: 1 << 30, batch: 256, cpu: None };
    while !over.load(Ordering::Acquire) {
        program.live(&live)?;
    }
    Ok(())
}

/// Its program.
pub fn object(ifindex: u32) -> Result<Object> {
    let mut program = Assembler::new(RAW, ProgramKind::XDP);
    program.load_imm64(R1, ifindex.into()).mov(R2, 0).call(Helper::REDIRECT).exit();
    let mut object = asm::Object::new(RAW, "Dual MIT/GPL");
    object.program(program);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

/// Name of the program that only redirects.
pub const RAW: &str = "raw_limit";
