//! What the filter sees of a packet, in plain Rust: bytes in, facts and anomalies out, one layer
//! for each packet inside of a packet.
//!
//! Rule: `bpf/filter/read.h` finds the same, field by field, for any bytes; it is written from the
//! same words and not from this code. Headers are taken in the order in which they stand, never
//! beyond the packet that they belong to, and what could be read before something broke is kept.
//! Not here: policies and rules (`model`).

mod cursor;
mod link;
mod network;
mod transport;
mod tunnel;

use crate::abi::{Extension, Fragment, Need};
use crate::{Field, Needs, PacketFields, Reason};
use cursor::Cursor;
use tunnel::Inside;

/// Packets inside of each other that are looked at, as `FILTER_LAYERS`.
pub const LAYERS: usize = 3;
/// Bytes into a frame at which an inner packet may begin.
pub const FARTHEST: usize = 0x1fff;

/// A frame as it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame<'a> {
    /// From the Ethernet header on.
    pub bytes: &'a [u8],
    /// Index of the interface.
    pub ifindex: u32,
    pub queue: u32,
}

/// All that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The outermost first; never empty.
    pub layers: Vec<Layer>,
    /// What is odd behind the last layer: another packet is in there, but it cannot be reached.
    pub beyond: Option<Reason>,
}

/// One packet: its own headers, and the link of the outermost one that has an Ethernet header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    pub fields: PacketFields,
    /// In the order in which they were found. A fault, after which nothing could be read, is last.
    pub anomalies: Vec<Reason>,
    /// Where its network header begins in the frame; `None` when even that could not be found.
    pub network: Option<usize>,
    pub transport: Option<usize>,
    /// Of fragments: what fragments of one packet have in common.
    pub siblings: Option<Siblings>,
    /// Where the packet ends that this layer's headers belong to.
    limit: usize,
    inner: bool,
}

/// Fragments of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Siblings {
    pub source: u128,
    pub dest: u128,
    /// In IPv4 with the protocol above 16 bits.
    pub identification: u32,
    pub is_ipv6: bool,
}

/// Reads a frame as far as something needs it. Total: any bytes have an answer.
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
            Ok(Some((inner, behind))) => (layer, inside) = (inner, Some(behind)),
            Ok(None) => return reading,
            Err(reason) => return Reading { beyond: Some(reason), ..reading },
        }
    }
}

struct Reader<'a> {
    frame: Frame<'a>,
    needs: Needs,
    /// A first fragment is around this: what is inside may go on beyond its end.
    is_cut: bool,
}

impl<'a> Reader<'a> {
    /// The link, and what is behind it if anybody asks.
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

    /// What is behind the link headers.
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
        network.tell(layer, is_ipv6);
        let result = result.and_then(|()| {
            network.note(layer);
            layer.limit = cursor.limit();
            self.transport(layer, cursor, &network, is_ipv6)
        });
        layer.anomalies.extend(result.err());
        self.is_cut |= network.fragment() == Fragment::First;
    }
}

impl Layer {
    pub fn is_later_fragment(&self) -> bool {
        self.fields.field(Field::Fragment) == Some(Fragment::Later as u128)
    }

    pub fn is_first_fragment(&self) -> bool {
        self.fields.field(Field::Fragment) == Some(Fragment::First as u128)
    }
}

/// Names of the extension headers in a set of bits.
pub fn extension_names(bits: u128) -> Vec<&'static str> {
    let has = |extension: &Extension| bits & *extension as u128 != 0;
    Extension::ALL.into_iter().filter(has).map(Extension::label).collect()
}
