//! States of connections, by what one packet shows.
//!
//! The filter runs before connection tracking, so a state is a class of packets. Each packet is in
//! one class: TCP by its flags, UDP by its port, ICMP by its type, and all others are `new`.
//!
//! Rule: the classes follow the kernel where one packet determines the state
//! (`net/netfilter/nf_conntrack_proto_tcp.c`: `tcp_valid_flags`, `nf_conntrack_proto_icmpv6.c`:
//! `noct_valid_new`); elsewhere [`CONSEQUENCE`] declares the difference.

use serde_json::Value;

use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::import_export::error::nft::ImportError;
use crate::import_export::icmp;
use crate::{Field, Values};

/// How the classes differ from the states.
pub(super) const CONSEQUENCE: &str = "connections are not known: TCP with ACK or RST, UDP to ports \
    32768-60999, and replies and errors of ICMP count as established or related, TCP with \
    impossible flags as invalid, all else as new. Forged packets of these kinds pass to the stack, \
    UDP services on these ports are reachable, and replies to other ports (NTP, a DNS server's \
    own queries) and invalid segments need rules of their own";

/// States, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct States(u8);

const INVALID: u8 = 1;
const ESTABLISHED: u8 = 2;
const RELATED: u8 = 4;
const NEW: u8 = 8;
const UNTRACKED: u8 = 16;
const ALL: u8 = 31;
const NAMES: [(&str, u8); 5] = [
    ("invalid", INVALID),
    ("established", ESTABLISHED),
    ("related", RELATED),
    ("new", NEW),
    ("untracked", UNTRACKED),
];

impl States {
    /// The states of a match of `ct state`; `None` for another match.
    pub fn of_match(body: &Value) -> Option<Result<Self, ImportError>> {
        let is_state = body["left"]["ct"]["key"] == "state";
        is_state.then(|| Self::compared(body["op"].as_str().unwrap_or("=="), &body["right"]))
    }

    fn compared(op: &str, right: &Value) -> Result<Self, ImportError> {
        let named = Self::named(right)?;
        match op {
            "==" | "in" => Ok(Self(named)),
            "!=" | "!" => Ok(Self(ALL & !named)),
            _ => Err(ImportError::Operator(op.to_owned())),
        }
    }

    fn named(right: &Value) -> Result<u8, ImportError> {
        let several = right.as_array().or_else(|| right["set"].as_array());
        if let Some(several) = several {
            return several.iter().try_fold(0, |states, one| Ok(states | Self::named(one)?));
        }
        let name = right.as_str().unwrap_or_default();
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, state)| *state).ok_or_else(|| ImportError::UnknownValue(right.to_string()))
    }

    /// The classes of packets that have one of the states.
    pub fn classes(self) -> Vec<Class> {
        let classes = [self.tcp(), self.udp(), self.icmp(), self.icmpv6(), self.others()];
        classes.into_iter().flatten().collect()
    }

    fn has(self, state: u8) -> bool {
        self.0 & state != 0
    }

    fn tcp(self) -> Option<Class> {
        let of = |flags: u8| match flags & !IGNORED {
            flags if !VALID.contains(&flags) => INVALID,
            flags if flags & (ACK | RST) != 0 => ESTABLISHED,
            _ => NEW,
        };
        let flags = (0..=u8::MAX).filter(|flags| self.has(of(*flags)));
        Class::new(6, Some((Field::TcpFlags, Values::new(flags.map(|it| (it.into(), it.into()))))))
    }

    fn udp(self) -> Option<Class> {
        let local = Values::new([LOCAL_PORTS]);
        let ports = match (self.has(ESTABLISHED), self.has(NEW)) {
            (true, true) => return Class::new(17, None),
            (true, false) => local,
            (false, true) => local.complement(0xffff),
            (false, false) => return None,
        };
        Class::new(17, Some((Field::DestPort, ports)))
    }

    fn icmp(self) -> Option<Class> {
        let of = |kind: u8| match kind {
            0 | 14 | 16 | 18 => ESTABLISHED,
            3 | 4 | 5 | 11 | 12 => RELATED,
            _ => NEW,
        };
        Class::of_types(1, (0..=u8::MAX).filter(|kind| self.has(of(*kind))))
    }

    fn icmpv6(self) -> Option<Class> {
        let of = |kind: u8| match kind {
            129 => ESTABLISHED,
            kind if kind < 128 => RELATED,
            130..=136 | 143 => UNTRACKED,
            _ => NEW,
        };
        Class::of_types(58, (0..=u8::MAX).filter(|kind| self.has(of(*kind))))
    }

    /// Protocols of which one packet does not show the state.
    fn others(self) -> Option<Class> {
        let known = Values::new([6_u128, 17, 1, 58].map(|protocol| (protocol, protocol)));
        self.has(NEW).then(|| Class { protocols: known.complement(0xff), field: None })
    }
}

/// Packets of protocols, with a test of one field.
#[derive(Clone, Debug)]
pub(super) struct Class {
    protocols: Values,
    field: Option<(Field, Values)>,
}

impl Class {
    fn new(protocol: u8, field: Option<(Field, Values)>) -> Option<Self> {
        let is_empty = field.as_ref().is_some_and(|(_, values)| values.is_empty());
        (!is_empty).then(|| Self { protocols: Values::one(protocol), field })
    }

    fn of_types(protocol: u8, types: impl Iterator<Item = u8>) -> Option<Self> {
        let types = Values::new(types.map(|kind| (kind.into(), kind.into())));
        Self::new(protocol, Some((Field::Icmp, icmp::with_types(&types))))
    }

    /// Adds the tests of the class.
    pub fn require(&self, tests: &mut Conjunction) -> Result<(), ImportError> {
        tests.require(Field::Protocol, &self.protocols)?;
        match self.protocols.ranges() {
            [(1, 1)] => tests.require_ether_type(IPV4)?,
            [(58, 58)] => tests.require_ether_type(IPV6)?,
            _ => {}
        }
        match &self.field {
            Some((field, values)) => Ok(tests.require(*field, values)?),
            None => Ok(()),
        }
    }
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
const URG: u8 = 0x20;
/// PSH, ECE and CWR, which do not matter for the validity of flags.
const IGNORED: u8 = 0x08 | 0x40 | 0x80;
/// Combinations of flags that a valid segment has.
const VALID: [u8; 9] =
    [SYN, SYN | URG, SYN | ACK, RST, RST | ACK, FIN | ACK, FIN | ACK | URG, ACK, ACK | URG];
/// The default of `net.ipv4.ip_local_port_range`: ports from which a host sends requests.
const LOCAL_PORTS: (u128, u128) = (32768, 60999);
