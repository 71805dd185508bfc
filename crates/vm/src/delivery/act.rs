//! What happens to a packet when a program has spoken.

use spec::{Input, Verdict};

use super::{Loss, Output, Port, Reason, Run};
use crate::error::Result;
use crate::limits;
use crate::redirect::{Choice, Target};
use crate::worker::{Context, Worker};
use crate::world::Interface;

impl Worker {
    /// Runs a program, by its number, on a packet, and sends the packet where it belongs.
    ///
    /// An error is the packet's: too short, too long, or in several buffers for a program that
    /// takes one. A program that is stopped is no error here: see [`Run::fault`].
    pub fn run(&mut self, program: usize, input: &Input) -> Result<Run> {
        let mut run = Run::default();
        self.run_into(program, input, &mut run)?;
        Ok(run)
    }

    /// Like [`Worker::run`], in the buffers of an earlier result.
    pub fn run_into(&mut self, program: usize, input: &Input, run: &mut Run) -> Result<()> {
        self.put(input)?;
        self.check_buffers(program)?;
        run.clear();
        match self.execute(program) {
            Ok(code) => run.code = code,
            Err(fault) => run.fault = Some(fault),
        }
        run.verdict = Verdict::from_code(run.code);
        self.frame.append_packet(&self.memory, &mut run.packet);
        run.metadata.extend_from_slice(self.frame.metadata(&self.memory));
        self.deliver(run);
        Ok(())
    }

    fn deliver(&mut self, run: &mut Run) {
        let ifindex = self.context.ingress_ifindex;
        match run.verdict {
            Verdict::Pass => self.arrive(run, Port::Stack { ifindex }),
            Verdict::Tx => self.arrive(run, Port::Device { ifindex }),
            Verdict::Redirect => self.follow(run, 0),
            Verdict::Drop => run.lose(Reason::Dropped, None),
            Verdict::Aborted if run.fault.is_some() => run.lose(Reason::Fault, None),
            Verdict::Aborted if run.code == 0 => run.lose(Reason::Aborted, None),
            Verdict::Aborted => run.lose(Reason::BadVerdict, None),
        }
    }

    /// Acts on what the redirect helpers chose; `xdp_do_redirect`.
    fn follow(&mut self, run: &mut Run, hops: u32) {
        match std::mem::take(&mut self.redirect).choice {
            Choice::Nothing => run.lose(Reason::NoTarget, None),
            Choice::Broadcast { map, exclude_ingress } => {
                self.broadcast(run, map, exclude_ingress);
            }
            Choice::To(Target::Device { ifindex, program }) => self.send(run, ifindex, program),
            Choice::To(Target::Cpu { cpu, program }) => self.visit(run, cpu, program, hops),
            Choice::To(Target::Xsk { map, key }) => self.arrive(run, Port::Xsk { map, key }),
        }
    }

    fn send(&mut self, run: &mut Run, ifindex: u32, program: Option<u32>) {
        match self.sendable(ifindex) {
            Ok(()) => self.leave(run, ifindex, program),
            Err(reason) => run.lose(reason, Some(Port::Device { ifindex })),
        }
    }

    /// Whether an interface takes the frame. A world without interfaces has any, and they take
    /// all.
    fn sendable(&self, ifindex: u32) -> std::result::Result<(), Reason> {
        let world = &self.shared.world;
        if world.interfaces.is_empty() {
            return if ifindex == 0 { Err(Reason::NoInterface) } else { Ok(()) };
        }
        let interface = world.interface(ifindex).ok_or(Reason::NoInterface)?;
        if !interface.up {
            return Err(Reason::InterfaceDown);
        }
        if self.frame.len() > longest(interface) { Err(Reason::TooLong) } else { Ok(()) }
    }

    /// A copy to each entry of a devmap that can take one; the others are passed over in silence.
    /// Copies spend the packet's budget, and end with it.
    fn broadcast(&mut self, run: &mut Run, map: u32, exclude_ingress: bool) {
        let mut saved = std::mem::take(&mut self.saved);
        self.frame.save(&self.memory, &mut saved);
        let (mut from, mut sent) = (0, 0);
        while let Some((place, target)) = self.maps[map as usize].target_from(from) {
            if let Err(fault) = self.charge(u64::from(place - from) + COPY + 2 * self.frame.len()) {
                run.losses.push(Loss { reason: Reason::Fault, port: None, fault: Some(fault) });
                break;
            }
            from = place + 1;
            let Target::Device { ifindex, program } = target else { continue };
            let excluded = exclude_ingress && ifindex == self.context.ingress_ifindex;
            if sent > 0 {
                self.frame.restore(&mut self.memory, &saved);
            }
            if !excluded && self.sendable(ifindex).is_ok() {
                self.leave(run, ifindex, program);
                sent += 1;
            }
        }
        if sent == 0 && run.losses.is_empty() {
            run.lose(Reason::NobodyThere, None);
        }
        self.saved = saved;
    }

    /// Out of an interface, once the devmap entry's program has let it pass.
    fn leave(&mut self, run: &mut Run, ifindex: u32, program: Option<u32>) {
        let port = Port::Device { ifindex };
        let Some(program) = program else { return self.arrive(run, port) };
        match self.behind(run, port, program, Context { egress_ifindex: ifindex, ..self.moved() }) {
            Some(PASS) => self.arrive(run, port),
            Some(DROP) => run.lose(Reason::EgressDropped, Some(port)),
            Some(ABORTED) => run.lose(Reason::EgressAborted, Some(port)),
            Some(_) => run.lose(Reason::EgressBadVerdict, Some(port)),
            None => {}
        }
    }

    /// To another processor, and on from there as the cpumap entry's program says.
    fn visit(&mut self, run: &mut Run, cpu: u32, program: Option<u32>, hops: u32) {
        let port = Port::Cpu { cpu };
        let Some(program) = program else { return self.arrive(run, port) };
        if hops == limits::HOPS {
            return run.lose(Reason::TooManyHops, Some(port));
        }
        let here = std::mem::replace(&mut self.cpu, cpu);
        match self.behind(run, port, program, self.moved()) {
            Some(PASS) => self.arrive(run, port),
            Some(REDIRECT) => self.follow(run, hops + 1),
            Some(DROP) => run.lose(Reason::CpuDropped, Some(port)),
            Some(ABORTED) => run.lose(Reason::CpuAborted, Some(port)),
            Some(_) => run.lose(Reason::CpuBadVerdict, Some(port)),
            None => {}
        }
        self.cpu = here;
    }

    /// Runs a map entry's program on the frame: what it returned, `None` when that lost the frame.
    fn behind(&mut self, run: &mut Run, port: Port, program: u32, context: Context) -> Option<u32> {
        let before = std::mem::replace(&mut self.context, context);
        let grows = std::mem::replace(&mut self.frame.grows, false);
        let result = self.execute_on(program as usize);
        self.context = before;
        self.frame.grows = grows;
        match result {
            Ok(code) => Some(code),
            Err(fault) => {
                let (reason, port) = (Reason::Fault, Some(port));
                run.losses.push(Loss { reason, port, fault: Some(fault) });
                None
            }
        }
    }

    /// The surroundings of a frame behind a redirect: its queue is forgotten.
    fn moved(&self) -> Context {
        Context { rx_queue: 0, ..self.context.clone() }
    }

    fn arrive(&self, run: &mut Run, port: Port) {
        let mut packet = Vec::with_capacity(self.frame.len() as usize);
        self.frame.append_packet(&self.memory, &mut packet);
        let metadata = self.frame.metadata(&self.memory).to_vec();
        run.outputs.push(Output { port, packet, metadata });
    }
}

impl Run {
    fn clear(&mut self) {
        self.code = 0;
        self.fault = None;
        self.packet.clear();
        self.metadata.clear();
        self.outputs.clear();
        self.losses.clear();
    }

    fn lose(&mut self, reason: Reason, port: Option<Port>) {
        self.losses.push(Loss { reason, port, fault: None });
    }
}

/// Bytes of the longest frame that an interface sends: its MTU, its header, one VLAN tag.
fn longest(interface: &Interface) -> u64 {
    const VLAN_TAG: u64 = 4;
    u64::from(interface.mtu) + u64::from(interface.header_len) + VLAN_TAG
}

/// Work of a copy besides its bytes, which are copied twice.
const COPY: u64 = 256;
const ABORTED: u32 = Verdict::Aborted as u32;
const DROP: u32 = Verdict::Drop as u32;
const PASS: u32 = Verdict::Pass as u32;
const REDIRECT: u32 = Verdict::Redirect as u32;
