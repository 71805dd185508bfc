//! Carries out the verdict of a program on its packet.

use spec::{Input, Verdict};

use super::{Loss, Output, Port, Reason, Run};
use crate::error::Result;
use crate::limits;
use crate::processor::{Context, Processor};
use crate::redirect::{Choice, Target};
use crate::worker::Worker;
use crate::world::Interface;

impl Worker {
    /// Runs a program, by its number, on a packet and delivers the packet.
    ///
    /// # Errors
    /// The packet is too short, too long, or in several buffers for a program that accepts one. A
    /// program that is stopped is not an error here: see [`Run::fault`].
    pub fn run(&mut self, program: usize, input: &Input) -> Result<Run> {
        let mut run = Run::default();
        self.run_into(program, input, &mut run)?;
        Ok(run)
    }

    /// Like [`Worker::run`], into the buffers of an earlier result.
    ///
    /// # Errors
    /// See [`Worker::run`].
    pub fn run_into(&mut self, program: usize, input: &Input, run: &mut Run) -> Result<()> {
        self.put(input)?;
        self.check_buffers(program)?;
        run.clear();
        match self.execute(program) {
            Ok(code) => run.code = code,
            Err(fault) => run.fault = Some(fault),
        }
        run.verdict = Verdict::from_code(run.code);
        let Processor { frame, memory, .. } = &self.processor;
        frame.append_packet(memory, &mut run.packet);
        run.metadata.extend_from_slice(frame.metadata(memory));
        Delivery { worker: self, run }.deliver();
        Ok(())
    }
}

/// A packet on its way from the program to its ports.
struct Delivery<'a> {
    worker: &'a mut Worker,
    run: &'a mut Run,
}

impl Delivery<'_> {
    fn deliver(&mut self) {
        let ifindex = self.processor().context.ingress_ifindex;
        match self.run.verdict {
            Verdict::Pass => self.arrive(Port::Stack { ifindex }),
            Verdict::Tx => self.arrive(Port::Device { ifindex }),
            Verdict::Redirect => self.redirect(0),
            Verdict::Drop => self.run.lose(Reason::Dropped, None),
            Verdict::Aborted if self.run.fault.is_some() => self.run.lose(Reason::Fault, None),
            Verdict::Aborted if self.run.code == 0 => self.run.lose(Reason::Aborted, None),
            Verdict::Aborted => self.run.lose(Reason::BadVerdict, None),
        }
    }

    fn processor(&mut self) -> &mut Processor {
        &mut self.worker.processor
    }

    /// Sends the packet to the target that the redirect helpers chose; `xdp_do_redirect`.
    fn redirect(&mut self, hops: u32) {
        match std::mem::take(&mut self.processor().redirect).choice {
            Choice::Nothing => self.run.lose(Reason::NoTarget, None),
            Choice::Broadcast { map, exclude_ingress } => self.broadcast(map, exclude_ingress),
            Choice::To(Target::Device { ifindex, program }) => self.send(ifindex, program),
            Choice::To(Target::Cpu { cpu, program }) => self.visit(cpu, program, hops),
            Choice::To(Target::Xsk { map, key }) => self.arrive(Port::Xsk { map, key }),
        }
    }

    fn send(&mut self, ifindex: u32, program: Option<u32>) {
        match self.sendable(ifindex) {
            Ok(()) => self.transmit(ifindex, program),
            Err(reason) => self.run.lose(reason, Some(Port::Device { ifindex })),
        }
    }

    /// Whether an interface accepts the frame. An environment without interfaces accepts every
    /// index except 0, and any length.
    fn sendable(&self, ifindex: u32) -> std::result::Result<(), Reason> {
        let processor = &self.worker.processor;
        let world = &processor.shared.world;
        if world.interfaces.is_empty() {
            return if ifindex == 0 { Err(Reason::NoInterface) } else { Ok(()) };
        }
        let interface = world.interface(ifindex).ok_or(Reason::NoInterface)?;
        if !interface.up {
            return Err(Reason::InterfaceDown);
        }
        if processor.frame.len() > longest(interface) { Err(Reason::TooLong) } else { Ok(()) }
    }

    /// Sends a copy to each entry of a devmap that accepts one; the others are skipped silently.
    /// Copies spend the packet's budget and stop when it is exhausted.
    fn broadcast(&mut self, map: u32, exclude_ingress: bool) {
        let mut saved = std::mem::take(&mut self.worker.saved);
        let processor = self.processor();
        processor.frame.save(&processor.memory, &mut saved);
        let (mut from, mut sent) = (0, 0);
        while let Some((place, target)) = self.processor().maps[map as usize].target_from(from) {
            let processor = self.processor();
            let work = u64::from(place - from) + COPY + 2 * processor.frame.len();
            if let Err(fault) = processor.charge(work) {
                self.run.losses.push(Loss {
                    reason: Reason::Fault,
                    port: None,
                    fault: Some(fault),
                });
                break;
            }
            from = place + 1;
            let Target::Device { ifindex, program } = target else { continue };
            let excluded = exclude_ingress && ifindex == processor.context.ingress_ifindex;
            if sent > 0 {
                processor.frame.restore(&mut processor.memory, &saved);
            }
            if !excluded && self.sendable(ifindex).is_ok() {
                self.transmit(ifindex, program);
                sent += 1;
            }
        }
        if sent == 0 && self.run.losses.is_empty() {
            self.run.lose(Reason::NobodyThere, None);
        }
        self.worker.saved = saved;
    }

    /// Sends the packet out of an interface if the devmap entry's program passes it.
    fn transmit(&mut self, ifindex: u32, program: Option<u32>) {
        let port = Port::Device { ifindex };
        let Some(program) = program else { return self.arrive(port) };
        let context = Context { egress_ifindex: ifindex, ..self.redirected() };
        match self.run_entry(port, program, context) {
            Some(PASS) => self.arrive(port),
            Some(DROP) => self.run.lose(Reason::EgressDropped, Some(port)),
            Some(ABORTED) => self.run.lose(Reason::EgressAborted, Some(port)),
            Some(_) => self.run.lose(Reason::EgressBadVerdict, Some(port)),
            None => {}
        }
    }

    /// Moves the packet to another processor and follows the cpumap entry's program there.
    fn visit(&mut self, cpu: u32, program: Option<u32>, hops: u32) {
        let port = Port::Cpu { cpu };
        let Some(program) = program else { return self.arrive(port) };
        if hops == limits::HOPS {
            return self.run.lose(Reason::TooManyHops, Some(port));
        }
        let original = std::mem::replace(&mut self.processor().cpu, cpu);
        let context = self.redirected();
        match self.run_entry(port, program, context) {
            Some(PASS) => self.arrive(port),
            Some(REDIRECT) => self.redirect(hops + 1),
            Some(DROP) => self.run.lose(Reason::CpuDropped, Some(port)),
            Some(ABORTED) => self.run.lose(Reason::CpuAborted, Some(port)),
            Some(_) => self.run.lose(Reason::CpuBadVerdict, Some(port)),
            None => {}
        }
        self.processor().cpu = original;
    }

    /// Runs a map entry's program on the frame. Returns its code; `None` when a fault lost the
    /// frame.
    fn run_entry(&mut self, port: Port, program: u32, context: Context) -> Option<u32> {
        let processor = self.processor();
        let before = std::mem::replace(&mut processor.context, context);
        let grows = std::mem::replace(&mut processor.frame.grows, false);
        let result = self.worker.execute_on(program as usize);
        let processor = self.processor();
        processor.context = before;
        processor.frame.grows = grows;
        match result {
            Ok(code) => Some(code),
            Err(fault) => {
                let (reason, port) = (Reason::Fault, Some(port));
                self.run.losses.push(Loss { reason, port, fault: Some(fault) });
                None
            }
        }
    }

    /// The context of a redirected frame, which no longer has a receive queue.
    fn redirected(&mut self) -> Context {
        Context { rx_queue: 0, ..self.processor().context.clone() }
    }

    fn arrive(&mut self, port: Port) {
        let Processor { frame, memory, .. } = &self.worker.processor;
        let mut packet = Vec::with_capacity(frame.len() as usize);
        frame.append_packet(memory, &mut packet);
        let metadata = frame.metadata(memory).to_vec();
        self.run.outputs.push(Output { port, packet, metadata });
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
