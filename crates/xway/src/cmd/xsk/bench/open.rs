//! Interfaces, memory and sockets, from the arguments.

use anyhow::{Result, anyhow, bail};
use bench::load::{Plan, Role, STREAMS, Setup, Task};
use sys::signal::Stop;
use traffic::{Rate, limits};
use xsk::device::{Device, Wanted};
use xsk::socket::Mode;
use xsk::wait::BusyPoll;
use xsk::workers::{Cpus, Place};
use xsk::{Interface, Socket, Steer, Umem, Wait};

use super::packet::template;
use crate::args::{BenchArgs, CopyArg, QueueArg, RoleArg, WaitArg};
use crate::cmd::generate::guard;

/// Everything that a run needs.
#[derive(Debug)]
pub struct Opened {
    pub plan: Plan,
    pub tasks: Vec<(Place, Task)>,
    pub setup: Setup,
}

impl Opened {
    pub fn new(args: &BenchArgs, stop: &Stop) -> Result<Self> {
        check(args)?;
        let interface = open(args)?;
        let out = args.out_dev.as_ref().filter(|_| args.role == RoleArg::Forward);
        let out = out.map(|dev| Interface::builder(dev).without_steering().open()).transpose()?;
        let queues = queues(args, &interface, out.as_ref())?;
        let wanted = wanted(args, interface.device());
        let tasks = (0..queues.len())
            .map(|worker| {
                let umem = memory(args, &wanted)?;
                let open = |on, fill| socket(args, (on, queues[worker]), &umem, (&wanted, fill));
                let socket = open(&interface, args.rings)?;
                // It receives nothing: the fill ring needs the fewest frames.
                let out = out.as_ref().map(|out| open(out, 1)).transpose()?;
                Ok(Task { worker, socket, out })
            })
            .collect::<Result<Vec<_>>>()?;
        let cpus = args.cpus.as_ref().map_or(Cpus::Auto, |cpus| Cpus::List(cpus.0.clone()));
        let places = cpus.places(interface.ifindex(), &queues)?;
        let setup = setup(args, &interface, (&tasks, &places), &wanted);
        let tasks = places.into_iter().zip(tasks).collect();
        Ok(Self { plan: plan(args, queues.len(), stop)?, tasks, setup })
    }
}

/// Refuses sockets that would take the packets of the user's own session.
fn check(args: &BenchArgs) -> Result<()> {
    if args.packet.rate.is_some() && !role(args.role).initiates() {
        bail!("--rate requires the role tx or rtt: other roles only receive");
    }
    if args.force {
        return Ok(());
    }
    if args.role == RoleArg::Tx {
        let rate = args.packet.rate.unwrap_or(Rate::Max);
        return guard::check(&args.dev, rate, f64::from(args.packet.size));
    }
    if let (true, Some(client)) = (args.steer.is_empty(), guard::carried(&args.dev)?) {
        bail!(
            "{} carries your own SSH session (from {client}), whose packets would go to the \
             socket: choose packets by --steer, another --dev, or say --force",
            args.dev
        );
    }
    Ok(())
}

fn open(args: &BenchArgs) -> Result<Interface> {
    let builder = Interface::builder(&args.dev);
    let builder = match (args.role, args.steer.is_empty()) {
        (RoleArg::Tx, _) => builder.without_steering(),
        (_, true) => builder.steer(Steer::All),
        (_, false) => builder.steer(Steer::Rules(args.steer.clone())),
    };
    builder.open().map_err(|error| match error {
        // A measured interface is left as it was found, so nothing is replaced.
        xsk::Error::Kernel(inner) => match *inner {
            kernel::Error::Occupied { interface, mode, program } => anyhow!(
                "{interface} already runs {program} in {mode} mode; detach that first, or measure \
                 another interface"
            ),
            other => other.into(),
        },
        other => other.into(),
    })
}

fn queues(args: &BenchArgs, dev: &Interface, out: Option<&Interface>) -> Result<Vec<u32>> {
    let queues = match args.queue {
        QueueArg::One(queue) => vec![queue],
        QueueArg::All => {
            let most = out.map_or(u32::MAX, Interface::queues);
            (0..dev.queues().min(most)).collect()
        }
    };
    if queues.len() > STREAMS || queues.iter().any(|queue| *queue as usize >= STREAMS) {
        bail!("packet numbers distinguish {STREAMS} queues: choose one of the first by --queue");
    }
    Ok(queues)
}

/// Frames large enough for the interface's packets, if one page is enough.
fn wanted(args: &BenchArgs, device: &Device) -> Wanted {
    let small = Wanted { frame_size: 2048, ..Wanted::default() };
    let longest = device.mtu + HEADERS;
    let frame_size = if longest.max(args.packet.size) <= 2048 - KERNEL { 2048 } else { 4096 };
    let multi_buffer = longest > 4096 - KERNEL;
    Wanted { frame_size, multi_buffer, zero_copy: args.mode == CopyArg::ZeroCopy, ..small }
}

fn memory(args: &BenchArgs, wanted: &Wanted) -> Result<Umem> {
    // All four rings may be full at the same time.
    let frames = args.rings.saturating_mul(4);
    Ok(Umem::builder().frames(frames).frame_size(wanted.frame_size).build()?)
}

fn socket(
    args: &BenchArgs,
    (interface, queue): (&Interface, u32),
    umem: &Umem,
    (wanted, fill): (&Wanted, u32),
) -> Result<Socket> {
    let mode = match args.mode {
        CopyArg::Auto => Mode::Auto,
        CopyArg::Copy => Mode::Copy,
        CopyArg::ZeroCopy => Mode::ZeroCopy,
    };
    let socket = interface.socket(queue).umem(umem).mode(mode).rings(args.rings).fill(fill);
    let socket = match args.wait {
        WaitArg::Spin => socket.wait(Wait::Spin),
        WaitArg::Poll => socket.wait(Wait::Poll),
        WaitArg::Adaptive => socket.wait(Wait::Adaptive),
        WaitArg::BusyPoll => socket.busy_poll(BusyPoll::default()),
    };
    Ok(socket.multi_buffer(wanted.multi_buffer).open()?)
}

fn setup(
    args: &BenchArgs,
    interface: &Interface,
    (tasks, places): (&[Task], &[Place]),
    wanted: &Wanted,
) -> Setup {
    let zero_copy = tasks.iter().all(|task| {
        let out = task.out.as_ref();
        task.socket.is_zero_copy() && out.is_none_or(Socket::is_zero_copy)
    });
    let why_copy = match args.mode {
        _ if zero_copy => None,
        CopyArg::Copy => Some("as asked for".to_owned()),
        _ => interface.device().why_copy(wanted),
    };
    Setup {
        role: role(args.role),
        dev: args.dev.clone(),
        out_dev: args.out_dev.clone(),
        zero_copy,
        why_copy,
        workers: places.iter().map(ToString::to_string).collect(),
    }
}

fn plan(args: &BenchArgs, workers: usize, stop: &Stop) -> Result<Plan> {
    let role = role(args.role);
    let template = role.initiates().then(|| template(&args.packet, &args.dev, stop)).transpose()?;
    let pps = match args.packet.rate {
        None | Some(Rate::Max) => None,
        Some(Rate::PacketsPerSecond(pps)) => Some(pps),
        Some(Rate::BitsPerSecond(bps)) => Some(bps / (8.0 * f64::from(args.packet.size))),
    };
    let mut plan = Plan::new(role, workers);
    plan.batch = args.batch as usize;
    plan.template = template;
    plan.time = args.time.unwrap_or(limits::DURATION);
    plan.is_timed = args.time.is_some();
    plan.count = args.count;
    plan.gap_ns = pps.map_or(0.0, |pps| 1e9 * workers as f64 / pps);
    Ok(plan)
}

fn role(arg: RoleArg) -> Role {
    match arg {
        RoleArg::Tx => Role::Tx,
        RoleArg::Rx => Role::Rx,
        RoleArg::Echo => Role::Echo,
        RoleArg::Forward => Role::Forward,
        RoleArg::Rtt => Role::Rtt,
    }
}

/// An Ethernet header and one VLAN tag.
const HEADERS: u32 = 18;
/// Headroom that the kernel reserves before a received packet.
const KERNEL: u32 = 256;
