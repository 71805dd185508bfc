//! The order in which routers evaluate routes: RFC 8955, section 5.1.

use std::cmp::Ordering;
use std::net::IpAddr;

use super::component::{Body, Component};
use packet::Prefix;

/// `Less` if the first route is evaluated first. The components of both are sorted by type.
pub(super) fn compare(one: &[Component], other: &[Component]) -> Ordering {
    for (a, b) in one.iter().zip(other) {
        let order = a.kind.cmp(&b.kind).then_with(|| match (&a.body, &b.body) {
            (Body::Prefix(a), Body::Prefix(b)) => prefixes(*a, *b),
            (Body::Numbers { encoded: a, .. }, Body::Numbers { encoded: b, .. }) => bytes(a, b),
            (Body::Prefix(_), Body::Numbers { .. }) => Ordering::Less,
            (Body::Numbers { .. }, Body::Prefix(_)) => Ordering::Greater,
        });
        if order.is_ne() {
            return order;
        }
    }
    // A route with more components comes first.
    other.len().cmp(&one.len())
}

/// A prefix within another one comes first, otherwise the lower one.
fn prefixes(a: Prefix, b: Prefix) -> Ordering {
    let bits = |prefix: Prefix| match prefix.address() {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let common = u32::from(a.length().min(b.length()));
    let head = |prefix| bits(prefix).checked_shr(128 - common).unwrap_or(0);
    head(a).cmp(&head(b)).then(b.length().cmp(&a.length()))
}

/// A sequence that continues another one comes first, otherwise the lower one.
fn bytes(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then(b.len().cmp(&a.len()))
}
