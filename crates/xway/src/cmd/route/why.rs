//! `route why`: runs packets through a copy of the router's program, and asks the kernel why.
//!
//! Rule: a packet is named as for `filter explain`: a capture, of which each packet is explained;
//! or, if no file has that name, the digits of one frame.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use control::route::{RouteTracer, TraceOptions, ingress_of};
use packet::{IpPacket, Limits};
use pcap::{Framer, Framing, Packet, Reader};
use sys::stdio::open_input;

use crate::args::RouteWhyArgs;
use crate::cmd::{Context, Exit};

pub fn run(args: &RouteWhyArgs, context: &Context) -> Result<Exit> {
    let mut tracers = Tracers { args, context, by_interface: HashMap::new(), shown: 0 };
    if let Some(frame) = digits(&args.what) {
        tracers.show(1, &frame)?;
    } else {
        capture(args, &mut tracers)?;
    }
    Ok(if tracers.shown > 0 { Exit::Done } else { Exit::No })
}

/// Explains the packets of the capture, until there are no more readers of the results.
fn capture(args: &RouteWhyArgs, tracers: &mut Tracers<'_>) -> Result<()> {
    let name = args.what.display();
    let file = open_input(&args.what).with_context(|| {
        format!("cannot open {name}, which is not a frame in hexadecimal digits either")
    })?;
    let mut reader = Reader::new(file).with_context(|| name.to_string())?;
    let mut framer = Framer::new(args.link.into(), Framing::default());
    let mut packet = Packet::default();
    let mut n = 0;
    while reader.next_into(&mut packet).with_context(|| format!("{name}: after packet {n}"))? {
        n += 1;
        if args.packet.is_some_and(|only| only != n) {
            continue;
        }
        let link_type = reader.interfaces()[packet.interface].link_type;
        let mut frame = Vec::new();
        if let Err(why) = framer.frame(link_type, &packet.data, &mut frame) {
            bail!("{name}: packet {n}: {why}; {}", why.remedy());
        }
        let is_last = args.packet == Some(n);
        if !tracers.show(n, &frame)? || is_last {
            break;
        }
    }
    Ok(())
}

/// The copies of the routers that packets arrive at, by the names of interfaces.
struct Tracers<'a> {
    args: &'a RouteWhyArgs,
    context: &'a Context,
    by_interface: HashMap<String, RouteTracer>,
    shown: u64,
}

impl Tracers<'_> {
    /// Explains a frame. Returns `false` if standard output was closed.
    fn show(&mut self, n: u64, frame: &[u8]) -> Result<bool> {
        let control = &self.context.control;
        let frame = &labelled(frame, self.args.flow_label);
        let options = TraceOptions { engine: self.args.engine, mark: self.args.mark };
        let interface = match &self.args.iface {
            Some(interface) => interface.clone(),
            None => ingress_of(control, frame, options).with_context(|| format!("packet {n}"))?,
        };
        if !self.by_interface.contains_key(&interface) {
            let tracer = RouteTracer::begin(control, &interface, options)?;
            self.by_interface.insert(interface.clone(), tracer);
        }
        let tracer = self.by_interface.get_mut(&interface).context("it was inserted before")?;
        self.shown += 1;
        let explanation = tracer.explain(n, frame).with_context(|| format!("packet {n}"))?;
        self.context.show_next(&explanation)
    }
}

/// The frame with this flow label, if it is of IPv6.
fn labelled(frame: &[u8], label: Option<u32>) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let packet = IpPacket::find(&frame, Limits::default()).ok().filter(|packet| packet.is_ipv6);
    if let (Some(label), Some(packet)) = (label, packet)
        && let Some(first) = frame.get_mut(packet.network..packet.network + 4)
    {
        let [_, high, middle, low] = label.to_be_bytes();
        (first[1], first[2], first[3]) = (first[1] & 0xf0 | high, middle, low);
    }
    frame
}

/// The bytes of a frame in hexadecimal digits, which colons and spaces may separate; `None` for
/// other text, and for the name of a file.
fn digits(what: &Path) -> Option<Vec<u8>> {
    if what.exists() {
        return None;
    }
    let text: String = what.to_str()?.chars().filter(|c| !matches!(c, ' ' | ':')).collect();
    let is_hex = text.len().is_multiple_of(2) && text.chars().all(|c| c.is_ascii_hexdigit());
    if text.is_empty() || !is_hex {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_digits() {
        let bytes = |text: &str| digits(Path::new(text));
        assert_eq!(bytes("02:00 0aFF"), Some(vec![2, 0, 10, 255]));
        for text in ["", "0", "flow.pcap", "0200x0", "/"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
