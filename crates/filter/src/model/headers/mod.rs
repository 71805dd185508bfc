//! Reads the headers of a frame, in plain Rust: fields and anomalies, with one layer for each
//! encapsulated packet.
//!
//! Rule: `bpf/filter/read.h` finds the same fields and anomalies in any bytes; both are written
//! from the same specification. Headers are read in order, never beyond the packet that they belong
//! to. Fields that were read before a malformed header are kept. Not here: policies and rules
//! (`model`).

mod cursor;
mod link;
mod network;
mod transport;
mod tunnel;

use crate::abi::{Extension, Fragment, Need};
use crate::{Field, Needs, PacketFields, Reason};
use cursor::Cursor;
use tunnel::Inside;

/// The most nested packets that are read, as `FILTER_LAYERS`.
pub const LAYERS: usize = 3;
/// The highest offset in a frame where an encapsulated packet may begin.
pub const FARTHEST: usize = 0x1fff;

/// A received frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The bytes, with the Ethernet header.
    pub bytes: &'a [u8],
    /// Index of the receiving interface.
    pub ifindex: u32,
    /// Number of the receive queue.
    pub queue: u32,
}

/// The packets that were read in a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The packets, from the outermost; never empty.
    pub layers: Vec<Layer>,
    /// The anomaly that prevents reading a packet inside the last layer.
    pub beyond: Option<Reason>,
}

/// One packet: its own headers, with the link header of the next outer packet that has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// The fields.
    pub fields: PacketFields,
    /// Anomalies in the order in which they were found. A fault, which ends the reading, is last.
    pub anomalies: Vec<Reason>,
    /// Offset of the network header in the frame; `None` if it could not be found.
    pub network: Option<usize>,
    /// Offset of the transport header in the frame.
    pub transport: Option<usize>,
    /// The key of a fragment, which all fragments of one packet share.
    pub fragment_key: Option<FragmentKey>,
    /// Offset of the end of the packet in the frame.
    limit: usize,
    /// The packet contains another one.
    inner: bool,
}

/// The key of all fragments of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    pub source: u128,
    pub dest: u128,
    /// The identification; in IPv4 with the protocol in the higher bits.
    pub identification: u32,
    pub is_ipv6: bool,
}

/// Reads the headers of a frame that are needed. Any bytes have a result.
pub fn read(frame: &Frame<'_>, needs: Needs) -> Reading {
    let mut reader = Reader { frame: *frame, needs, is_cut: false };
    let mut reading = Reading::default();
    let (mut layer, mut inside) = reader.outermost();
    loop {
        if let Some(inside) = inside {
            reader.network(&mut layer, inside);
        }
        let next = reader.open(&layer, reading.layers.len() + 1);
        reading.layers.push(layer);
        match next {
            Ok(Some((inner, content))) => (layer, inside) = (inner, Some(content)),
            Ok(None) => return reading,
            Err(reason) => return Reading { beyond: Some(reason), ..reading },
        }
    }
}

struct Reader<'a> {
    frame: Frame<'a>,
    needs: Needs,
    /// The packet is inside a first fragment, so it may continue beyond the end.
    is_cut: bool,
}

impl<'a> Reader<'a> {
    /// Reads the link header; returns the network header if it is needed.
    fn outermost(&self) -> (Layer, Option<Inside<'a>>) {
        let bytes = self.frame.bytes;
        let mut layer = Layer { limit: bytes.len(), ..Layer::default() };
        layer.fields.set(Field::Length, bytes.len() as u128);
        if self.needs.has(Need::Arrival) {
            layer.fields.set(Field::Interface, self.frame.ifindex);
            layer.fields.set(Field::Queue, self.frame.queue);
        }
        let mut cursor = Cursor::new(bytes, 0, bytes.len());
        let link = self.link(&mut layer, &mut cursor);
        match link {
            Ok(Some(kind)) if self.needs.has(Need::Network) => (layer, Some((kind, cursor))),
            Ok(_) => (layer, None),
            Err(reason) => {
                layer.anomalies.push(reason);
                (layer, None)
            }
        }
    }

    /// Reads the headers that follow the link header.
    fn network(&mut self, layer: &mut Layer, (kind, mut cursor): Inside<'_>) {
        let mut network = network::Network::default();
        let result = match kind {
            link::IPV4 => self.ipv4(layer, &mut cursor, &mut network),
            link::IPV6 => self.ipv6(layer, &mut cursor, &mut network),
            link::PPPOE | link::MPLS | link::MPLS_MULTICAST => {
                layer.transport = None;
                layer.inner = self.needs.has(Need::Inner);
                return;
            }
            _ => return,
        };
        let is_ipv6 = kind == link::IPV6;
        network.set_fields(layer, is_ipv6);
        let result = result.and_then(|()| {
            network.add_anomalies(layer);
            layer.limit = cursor.limit();
            self.transport(layer, cursor, &network, is_ipv6)
        });
        layer.anomalies.extend(result.err());
        self.is_cut |= network.fragment() == Fragment::First;
    }
}

impl Layer {
    /// Whether it is a fragment other than the first.
    pub fn is_later_fragment(&self) -> bool {
        self.fields.field(Field::Fragment) == Some(Fragment::Later as u128)
    }

    /// Whether it is a first fragment.
    pub fn is_first_fragment(&self) -> bool {
        self.fields.field(Field::Fragment) == Some(Fragment::First as u128)
    }
}

/// The names of the extension headers in a set of bits.
pub fn extension_names(bits: u128) -> Vec<&'static str> {
    let has = |extension: &Extension| bits & *extension as u128 != 0;
    Extension::ALL.into_iter().filter(has).map(Extension::label).collect()
}
