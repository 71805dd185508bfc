//! Runs a command under `ptrace`, counts its system calls and injects one fault.
//!
//! Rule: threads and children up to their `exec` belong to the command; a program that it starts
//! runs untraced. The tracer's own children are those of its thread, so several tracers may run in
//! one process.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::call::{self, Entry, Kind};
use super::created::{Begun, Created};
use super::{memory, registers};

/// Waits for a line before it becomes the command, so that the tracer can take hold of it.
pub const GATE: [&str; 2] = ["-c", "read -r _; exec \"$0\" \"$@\""];

/// What is done at one system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed before the call is carried out.
    Kill,
    /// The process is killed when the call returns.
    KillAfter,
    /// The call is not carried out and returns the error of this number in its kind's list.
    Fail(usize),
}

/// A fault at the n-th call of a kind, from 0. Calls are counted by kind, so that a loop that polls
/// moves no point but its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub call: &'static str,
    pub index: usize,
    pub fault: Fault,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Killed(Signal),
    /// It did not end in time and was killed.
    Late,
}

#[derive(Debug)]
pub struct Trace {
    /// Counted calls in the order of their entries.
    pub calls: Vec<Kind>,
    pub created: Created,
    pub ending: Ending,
    /// Which fault was injected where; `None` when the call was not reached.
    pub hit: Option<String>,
    /// What the command printed.
    pub stdout: String,
    pub stderr: String,
}

/// Runs `command`, whose program is a shell that waits at [`GATE`], to its end. Its output is kept
/// in files in `folder`.
pub fn run(
    mut command: Command,
    point: Option<Point>,
    folder: &Path,
    limit: Duration,
) -> io::Result<Trace> {
    let names = ["stdout", "stderr"].map(|name| folder.join(name));
    command.stdin(Stdio::piped());
    command.stdout(File::create(&names[0])?).stderr(File::create(&names[1])?);
    // A tracer waits for the children of its thread: this thread has only the traced ones.
    let traced = thread::scope(|scope| scope.spawn(|| follow(command, point, limit)).join());
    let mut trace = traced.map_err(|_| io::Error::other("the tracer panicked"))??;
    let [stdout, stderr] = names.map(|name| std::fs::read(name).unwrap_or_default());
    trace.stdout = String::from_utf8_lossy(&stdout).into_owned();
    trace.stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(trace)
}

fn follow(mut command: Command, point: Option<Point>, limit: Duration) -> io::Result<Trace> {
    let mut child = command.spawn()?;
    let main = Pid::from_raw(child.id() as i32);
    if let Err(error) = ptrace::seize(main, options()) {
        child.kill()?;
        child.wait()?;
        return Err(error.into());
    }
    open_gate(&mut child)?;
    let mut tracer = Tracer::new(main, point);
    let late = thread::scope(|scope| {
        let (over, ended) = mpsc::channel::<()>();
        let watch = scope.spawn(move || {
            let late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            late && signal::kill(main, Signal::SIGKILL).is_ok()
        });
        let followed = tracer.follow();
        drop(over);
        followed.map(|()| watch.join().unwrap_or(false))
    })?;
    let ending = if late { Ending::Late } else { tracer.ending };
    Ok(Trace {
        calls: tracer.calls,
        created: tracer.created,
        ending,
        hit: tracer.hit,
        stdout: String::new(),
        stderr: String::new(),
    })
}

fn open_gate(child: &mut Child) -> io::Result<()> {
    match child.stdin.take() {
        Some(mut gate) => gate.write_all(b"\n"),
        None => Ok(()),
    }
}

fn options() -> Options {
    Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
}

struct Tracer {
    main: Pid,
    point: Option<Point>,
    /// The program has begun: its loader and the start of its runtime do not count.
    started: bool,
    /// The command's own `exec` was seen; before, it was a shell.
    is_command: bool,
    calls: Vec<Kind>,
    /// Calls of each kind.
    counts: HashMap<&'static str, usize>,
    created: Created,
    /// Calls between entry and exit, by thread.
    pending: HashMap<Pid, Pending>,
    hit: Option<String>,
    ending: Ending,
}

/// What is to be done when a call returns.
enum Pending {
    Return(Errno),
    KillAll,
    Note(Begun),
}

impl Tracer {
    fn new(main: Pid, point: Option<Point>) -> Self {
        Self {
            main,
            point,
            started: false,
            is_command: false,
            calls: Vec::new(),
            counts: HashMap::new(),
            created: Created::default(),
            pending: HashMap::new(),
            hit: None,
            ending: Ending::Late,
        }
    }

    /// Until no thread is left.
    fn follow(&mut self) -> nix::Result<()> {
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            let status = match waitpid(None::<Pid>, Some(flags)) {
                Err(Errno::ECHILD) => return Ok(()),
                Err(Errno::EINTR) => continue,
                other => other?,
            };
            match self.step(status) {
                // A thread that was killed meanwhile cannot be inspected or resumed.
                Err(Errno::ESRCH) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn step(&mut self, status: WaitStatus) -> nix::Result<()> {
        match status {
            WaitStatus::Exited(pid, code) if pid == self.main => self.ending = Ending::Exited(code),
            WaitStatus::Signaled(pid, signal, _) if pid == self.main => {
                self.ending = Ending::Killed(signal);
            }
            WaitStatus::PtraceEvent(pid, _, EVENT_EXEC) => return self.exec(pid),
            WaitStatus::PtraceEvent(pid, ..) => return self.resume(pid, None),
            WaitStatus::Stopped(pid, signal) => return self.resume(pid, Some(signal)),
            WaitStatus::PtraceSyscall(pid) => {
                self.at_call(pid)?;
                return self.resume(pid, None);
            }
            _ => {}
        }
        Ok(())
    }

    /// Before the command's own `exec` only events matter.
    fn resume(&self, thread: Pid, signal: Option<Signal>) -> nix::Result<()> {
        if self.is_command { ptrace::syscall(thread, signal) } else { ptrace::cont(thread, signal) }
    }

    fn exec(&mut self, process: Pid) -> nix::Result<()> {
        if process != self.main {
            return ptrace::detach(process, None);
        }
        self.is_command = true;
        self.resume(process, None)
    }

    fn at_call(&mut self, thread: Pid) -> nix::Result<()> {
        match ptrace::syscall_info(thread)?.op {
            OP_ENTRY => self.enter(thread),
            OP_EXIT => self.exit(thread),
            _ => Ok(()),
        }
    }

    fn enter(&mut self, thread: Pid) -> nix::Result<()> {
        let entry = registers::entry(thread)?;
        self.started |= entry.number == call::SIGALTSTACK;
        let Some(mut kind) = entry.kind().filter(|_| self.started) else { return Ok(()) };
        if entry.number == call::SENDTO && memory::is_query(thread.as_raw(), entry.args[1]) {
            kind = call::QUERY;
        }
        self.calls.push(kind);
        let count = self.counts.entry(kind.name).or_default();
        let index = *count;
        *count += 1;
        match self.point.filter(|point| point.call == kind.name && point.index == index) {
            Some(point) => self.inject(thread, &entry, kind, point),
            None => {
                self.note(thread, &entry);
                Ok(())
            }
        }
    }

    fn note(&mut self, thread: Pid, entry: &Entry) {
        if let Some(begun) = Begun::of(thread.as_raw(), entry) {
            self.pending.insert(thread, Pending::Note(begun));
        }
    }

    fn inject(&mut self, thread: Pid, entry: &Entry, kind: Kind, point: Point) -> nix::Result<()> {
        let place = format!("{} {} (call {})", kind.name, point.index + 1, self.calls.len());
        match point.fault {
            Fault::Kill => {
                self.hit = Some(format!("killed before {place}"));
                registers::skip(thread)?;
                signal::kill(self.main, Signal::SIGKILL)
            }
            Fault::KillAfter => {
                self.hit = Some(format!("killed after {place}"));
                self.pending.insert(thread, Pending::KillAll);
                Ok(())
            }
            Fault::Fail(number) => {
                let Some(error) = kind.errors.get(number).or(kind.errors.first()) else {
                    self.note(thread, entry);
                    return Ok(());
                };
                self.hit = Some(format!("{error:?} from {place}"));
                self.pending.insert(thread, Pending::Return(*error));
                registers::skip(thread)
            }
        }
    }

    fn exit(&mut self, thread: Pid) -> nix::Result<()> {
        match self.pending.remove(&thread) {
            None => Ok(()),
            Some(Pending::Return(error)) => registers::set_result(thread, -i64::from(error as i32)),
            Some(Pending::KillAll) => signal::kill(self.main, Signal::SIGKILL),
            Some(Pending::Note(begun)) => {
                let result = registers::result(thread)?;
                if result >= 0 {
                    self.created.note(thread.as_raw(), begun, result);
                }
                Ok(())
            }
        }
    }
}

/// `PTRACE_EVENT_EXEC`.
const EVENT_EXEC: i32 = 4;
/// `PTRACE_SYSCALL_INFO_ENTRY` and `_EXIT`.
const OP_ENTRY: u8 = 1;
const OP_EXIT: u8 = 2;
