//! Runs the capture again from its beginning, up to a position.
//!
//! Rule: nothing is kept between replays. Each loads the object into a new machine, whose packets,
//! clock and random numbers are the same each time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vm::{Fault, Hook, Map, Run, Step};

use super::position::Position;
use super::scene::{Object, Received, Scene};
use super::tracker::Tracker;
use crate::arm::Vm;
use crate::callbacks::Callbacks;
use crate::error::{Error, Result};
use crate::input::Capture;
use crate::interrupt::Interrupt;
use crate::setup::Setup;

/// Receives each position of a replay in order, until it breaks.
pub trait Visitor: Send + 'static {
    fn visit(&mut self, scene: &Scene<'_>) -> ControlFlow<()>;
}

/// Everything that a replay needs.
#[derive(Debug)]
pub struct Replay<'a> {
    pub setup: Setup<'a>,
    /// The object, shared with what is read at positions.
    pub object: Arc<Object>,
    pub interrupt: Interrupt,
}

impl Replay<'_> {
    /// Shows the visitor each position from a packet on; the packets before run unobserved.
    ///
    /// # Errors
    /// The engine refuses the object or a packet, or a request to end the run came.
    pub fn run<V: Visitor>(&self, first: u64, visitor: V) -> Result<V> {
        let mut vm = Vm::observable(&self.setup)?;
        let proceeds = self.interrupt.until_next();
        let is_done = interruptible(&mut vm, proceeds.clone());
        let (object, maps) = (Arc::clone(&self.object), vm.maps().to_vec());
        let (tracker, received) = (Tracker::default(), Received::default());
        let pass = Pass { visitor, object, maps, tracker, packet: 0, received, is_done };
        let pass = Arc::new(Mutex::new(pass));
        let mut capture = self.capture()?;
        while let Some(packet) = capture.next()? {
            if packet.number.is_multiple_of(ROUND) && !proceeds() {
                return Err(Error::MotionInterrupted { packet: packet.number });
            }
            let is_shown = packet.number >= first;
            if is_shown {
                locked(&pass).begin(packet.number);
                vm.worker().set_hook(Some(Box::new(Arc::clone(&pass))));
            }
            let run = vm.run(&packet)?;
            if is_shown && locked(&pass).finish(&run).is_break() {
                break;
            }
            if run.is_interrupted() {
                return Err(Error::MotionInterrupted { packet: packet.number });
            }
        }
        vm.worker().set_hook(None);
        let pass = Arc::into_inner(pass).expect("the engine returns the hook that it had");
        Ok(pass.into_inner().unwrap_or_else(PoisonError::into_inner).visitor)
    }

    /// The capture from its beginning.
    pub fn capture(&self) -> Result<Capture<'_>> {
        let mut capture = Capture::open(self.setup.options, &Callbacks::default())?;
        capture.for_program(&self.setup.program);
        Ok(capture)
    }
}

/// Ends runs of the machine after a request, or when the returned flag is set.
fn interruptible(vm: &mut Vm, proceeds: impl Fn() -> bool + Send + 'static) -> Arc<AtomicBool> {
    let is_done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_done);
    vm.worker().set_interrupt(Some(Box::new(move || flag.load(Relaxed) || !proceeds())));
    is_done
}

/// The hook of a replay.
struct Pass<V> {
    visitor: V,
    object: Arc<Object>,
    maps: Vec<Arc<Map>>,
    tracker: Tracker,
    packet: u64,
    received: Received,
    is_done: Arc<AtomicBool>,
}

impl<V: Visitor> Pass<V> {
    fn begin(&mut self, packet: u64) {
        self.packet = packet;
        self.tracker.begin();
    }

    fn finish(&mut self, run: &Run) -> ControlFlow<()> {
        if !self.is_done.load(Relaxed) && !run.is_interrupted() {
            self.tracker.finish();
            self.show(None, Some(run));
        }
        match self.is_done.load(Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn show(&mut self, step: Option<&Step<'_>>, run: Option<&Run>) {
        let executed = self.tracker.executed();
        let position = Position { packet: self.packet, step: executed };
        if let Some(step) = step {
            self.received.observe(step, executed);
        }
        let (tracker, object, maps) = (&self.tracker, &*self.object, &*self.maps);
        let received = &self.received;
        let scene = Scene { position, frame: 0, step, run, tracker, object, maps, received };
        if self.visitor.visit(&scene).is_break() {
            self.is_done.store(true, Relaxed);
        }
    }
}

impl<V: Visitor> Hook for Pass<V> {
    fn step(&mut self, step: &Step<'_>) {
        if !self.is_done.load(Relaxed) {
            self.tracker.advance(step);
            self.show(Some(step), None);
        }
    }

    fn end(&mut self, _: std::result::Result<u64, &Fault>) {
        if !self.is_done.load(Relaxed) {
            self.tracker.end();
        }
    }
}

/// Number of packets after which requests to end the run are checked.
const ROUND: u64 = 256;

fn locked<V>(pass: &Mutex<Pass<V>>) -> MutexGuard<'_, Pass<V>> {
    pass.lock().unwrap_or_else(PoisonError::into_inner)
}
