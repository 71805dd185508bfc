//! `gen-watch`: what it costs to count at the kernel's tracepoints what a driver did with frames.
//!
//! One core sends live frames through a program of three instructions into a veth whose peer
//! drops them, without and with the tracepoints watched as a generator watches them. (Programs on
//! other tracepoints slow the whole machine alike.)

use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kernel::{Attach, Ifindex, Link, LiveRun, LoadOptions, Mode, Object, Program, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};
use report::Bench;
use spec::asm::Reg::{R1, R2};
use spec::asm::{self, Assembler, Helper};
use spec::{Input, ProgramKind, Spec};
use sys::thread::Interruptible;

use crate::harness::{Arm, Harness};
use crate::hook::limit;
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `gen-watch`.
pub const SCENARIO: Scenario = Scenario {
    name: "gen-watch",
    kind: Kind::Part,
    about: "what counting at tracepoints costs a sender",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let field = Field::build()?;
    let mut bench = Bench::new("gen-watch");
    let arm = |name, watched| {
        Arm::new(name, "pps", {
            let field = &field;
            move |window| field.measure(watched, window)
        })
    };
    harness.interleave(&mut bench, &mut [arm("watched", true), arm("bare", false)])?;
    bench.ratio("watched", "bare");
    Ok(bench)
}

struct Field {
    net: TwoHosts,
    frame: Vec<u8>,
    sender: Object,
    cpu: usize,
    _dropping: Link,
    _receiver: Object,
}

impl Field {
    fn build() -> Result<Self> {
        let net = TwoHosts::build(&LinkOptions::default())?;
        let side = |host: &lab::Host| -> Result<Side> {
            Ok(Side { mac: host.mac(LINK)?, ip: host.ipv4(LINK)?.into(), port: 1234 })
        };
        let frame = Flow::new(side(&net.a)?, side(&net.b)?).udp_of_length(60)?;
        let receiver = limit::object()?;
        let (ifindex, program) = (net.b.ifindex(LINK)?, receiver.program(limit::NAME)?);
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let dropping = net.b.run(|| kernel::attach(&attach))??;
        let sender = redirecting(net.a.ifindex(LINK)?)?;
        let cpu = *sys::cpu::affinity()?.last().context("no processor may be used")?;
        Ok(Self { net, frame, sender, cpu, _dropping: dropping, _receiver: receiver })
    }

    /// Frames a second that arrive.
    fn measure(&self, watched: bool, window: Duration) -> Result<f64> {
        let watch = self.net.a.run(|| watched.then(watch).transpose())??;
        let enroll = watch.as_ref().map(|(_, enroll, _)| enroll);
        std::thread::scope(|scope| {
            let (ready, handle) = mpsc::channel();
            let send = move || self.net.a.run(|| self.send(enroll, &ready));
            let thread = sys::thread::spawn_scoped(scope, "sender", send)?;
            let handle = handle.recv()?;
            let rate = self.rate(window, || !thread.is_finished());
            while !thread.is_finished() {
                // Refused when it has just ended.
                let _ = handle.interrupt();
                thread::sleep(Duration::from_millis(1));
            }
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))??;
            rate?.context("the sender ended before it was interrupted")
        })
    }

    /// Until a signal comes.
    fn send(&self, enroll: Option<&Program>, ready: &Sender<Interruptible>) -> Result<()> {
        sys::cpu::set_affinity(&[self.cpu])?;
        if let Some(enroll) = enroll {
            enroll.call(&[0])?;
        }
        ready.send(Interruptible::current()?)?;
        let input = Input { packet: self.frame.clone(), ..Input::default() };
        let run = LiveRun { input, count: 1 << 31, batch: 256, cpu: None };
        self.sender.program(SENDER)?.live(&run)?;
        Ok(())
    }

    /// `None` when the sender has ended.
    fn rate(&self, window: Duration, is_running: impl Fn() -> bool) -> Result<Option<f64>> {
        let before = self.received()?;
        while self.received()? < before + WARM_UP {
            if !is_running() {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(1));
        }
        let (start, first) = (Instant::now(), self.received()?);
        thread::sleep(window);
        let (last, seconds) = (self.received()?, start.elapsed().as_secs_f64());
        Ok(is_running().then_some((last - first) as f64 / seconds))
    }

    fn received(&self) -> Result<u64> {
        Ok(self.net.b.netlink()?.link(LINK)?.statistics.rx_packets)
    }
}

/// As a generator watches: object, the program that a thread enrolls with, the tracepoints.
fn watch() -> Result<(Object, Program, Vec<Link>)> {
    let mut spec = Spec::parse("transmit", TRANSMIT)?;
    let netns = sys::netns::NetNs::current()?.id()?.inode as u32;
    let source = [1u32.to_ne_bytes(), netns.to_ne_bytes()].concat();
    spec.set_global("transmit_source", &source)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    let points = [("transmit_xmit", "xdp_devmap_xmit"), ("transmit_refused", "xdp_redirect_err")];
    let attach = |(program, point)| kernel::attach_raw_tracepoint(object.program(program)?, point);
    let links = points.into_iter().map(attach).collect::<kernel::Result<_>>()?;
    let enroll = object.program("transmit_enroll")?.duplicate()?;
    Ok((object, enroll, links))
}

fn redirecting(out: Ifindex) -> Result<Object> {
    let mut program = Assembler::new(SENDER, ProgramKind::XDP);
    program.mov(R1, out.0 as i32).mov(R2, 0).call(Helper::REDIRECT).exit();
    let mut object = asm::Object::new(SENDER, "Dual MIT/GPL");
    object.program(program);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

const TRANSMIT: &[u8] = include_bytes!("../../../../bpf/prebuilt/transmit.o");
const SENDER: &str = "sender";
const LINK: &str = "eth0";
const WARM_UP: u64 = 1000;
