//! Routes: where packets to a network are sent.

use std::fmt;
use std::net::IpAddr;

use packet::AddressPrefix;
use serde::{Deserialize, Serialize};

/// A route of a routing table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination network; `0.0.0.0/0` and `::/0` are the default routes.
    pub to: AddressPrefix,
    #[serde(default, rename = "type")]
    pub kind: RouteKind,
    /// Address of the next router, of either family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<IpAddr>,
    /// Name of the interface; by default the interface whose network contains `via`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    #[serde(default)]
    pub table: TableId,
    /// Metric; the lowest wins. Linux gives IPv6 routes 1024, and connected ones 256.
    #[serde(default)]
    pub metric: u32,
    /// Source address of packets from this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// A locked MTU, as set by `ip route … mtu lock 1400`; Linux ignores others for this lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Matches only packets of this type of service (IPv4).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tos: u8,
    /// Several next hops, instead of `via` and `dev`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_hops: Vec<NextHop>,
}

/// One of several next hops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextHop {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    /// Relative share of the flows, from 1.
    #[serde(default = "one")]
    pub weight: u32,
}

/// What a route does with a packet; `RTN_*` of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteKind {
    #[default]
    Unicast,
    /// Delivers to this host.
    Local,
    Broadcast,
    Anycast,
    Multicast,
    /// Drops silently.
    Blackhole,
    Unreachable,
    Prohibit,
    /// Continues with the next rule, as if the table had no route.
    Throw,
}

impl RouteKind {
    /// Whether the route has an interface.
    pub const fn has_device(self) -> bool {
        !matches!(self, Self::Blackhole | Self::Unreachable | Self::Prohibit | Self::Throw)
    }
}

/// Number of a routing table; `main`, `local` and `default` have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

impl TableId {
    pub const DEFAULT: Self = Self(253);
    pub const MAIN: Self = Self(254);
    pub const LOCAL: Self = Self(255);

    const NAMES: [(Self, &'static str); 3] =
        [(Self::DEFAULT, "default"), (Self::MAIN, "main"), (Self::LOCAL, "local")];
}

impl Default for TableId {
    fn default() -> Self {
        Self::MAIN
    }
}

impl Serialize for TableId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Self::NAMES.iter().find(|(id, _)| id == self) {
            Some((_, name)) => serializer.serialize_str(name),
            None => serializer.serialize_u32(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for TableId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TableVisitor)
    }
}

struct TableVisitor;

impl serde::de::Visitor<'_> for TableVisitor {
    type Value = TableId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of a routing table, or main, local or default")
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<TableId, E> {
        let number = u32::try_from(number).ok().filter(|number| *number > 0);
        number.map(TableId).ok_or_else(|| E::custom("a routing table is a number from 1"))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<TableId, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<TableId, E> {
        let found = TableId::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(id, _)| *id).ok_or_else(|| E::invalid_value(unexpected(name), &self))
    }
}

fn unexpected(name: &str) -> serde::de::Unexpected<'_> {
    serde::de::Unexpected::Str(name)
}

impl Route {
    /// A unicast route of the main table.
    pub fn new(to: AddressPrefix) -> Self {
        Self {
            to,
            kind: RouteKind::Unicast,
            via: None,
            dev: None,
            table: TableId::MAIN,
            metric: 0,
            source: None,
            mtu: None,
            tos: 0,
            next_hops: Vec::new(),
        }
    }

    #[must_use]
    pub fn via(mut self, gateway: IpAddr) -> Self {
        self.via = Some(gateway);
        self
    }

    #[must_use]
    pub fn dev(mut self, name: impl Into<String>) -> Self {
        self.dev = Some(name.into());
        self
    }

    #[must_use]
    pub fn kind(mut self, kind: RouteKind) -> Self {
        self.kind = kind;
        self
    }

    #[must_use]
    pub fn table(mut self, table: TableId) -> Self {
        self.table = table;
        self
    }
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
const fn is_zero(number: &u8) -> bool {
    *number == 0
}
