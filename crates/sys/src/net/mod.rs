//! Interfaces, addresses, routes and neighbours of one network namespace, over netlink and ioctl.
//!
//! Rule: a [`Netlink`] or [`Ethtool`](ethtool::Ethtool) belongs permanently to the namespace that
//! the opening thread was in, regardless of the thread that uses it. Nothing here changes a
//! thread's namespace: that is [`netns`](crate::netns).

mod address;
mod base_chains;
mod batch;
mod conntrack;
mod conversation;
mod cooked;
mod create;
mod datagrams;
pub mod ethtool;
mod events;
mod generic;
mod hook;
mod ifindex;
mod iptables;
mod legacy_chains;
mod link;
mod neighbour;
mod netdev;
mod next_hop;
mod next_hop_events;
mod nftables;
mod owned_route;
mod packet;
mod route;
mod route_events;
mod route_query;
mod routing;
mod silent_port;
mod sockets;
mod xdp;
mod xdp_diag;
pub mod xsk;
mod zone_rules;

use netlink_packet_core::{Emitable, NetlinkSerializable};
use netlink_packet_route::RouteNetlinkMessage;

pub use address::{Address, NewAddress};
pub use base_chains::base_chains;
pub use conntrack::{TrackedConnection, tracked_connections};
pub use cooked::{ClassicFilter, CookedSocket};
pub use create::{NewVeth, VethEnd};
pub use datagrams::Datagrams;
pub use events::LinkEvents;
pub use hook::{BaseChain, Hook};
pub use ifindex::Ifindex;
pub use iptables::{Chain, Iptables};
pub use link::{Bond, Link, Statistics, underneath};
pub use neighbour::Neighbour;
pub use netdev::{Direction, Napi, NetdevFamily, NetdevQueue, XdpFeatures};
pub use nftables::{NftFamily, Nftables};
pub use owned_route::OwnedRoute;
pub use packet::PacketSocket;
pub use route::{NewRoute, Route};
pub use route_events::{Deciding, RouteEvents};
pub use route_query::{RouteDecision, RouteQuery};
pub use routing::{Hop, TableRoute, TableRule};
pub use silent_port::SilentPort;
pub use sockets::{InetSocket, inet_sockets};
pub use xdp::{XdpExpect, XdpMode, XdpState};
pub use xdp_diag::{UmemListed, XskListed, xsk_listed};
pub use zone_rules::zone_rules;

use crate::error::Result;
use conversation::{Conversation, Reply, Request};

/// A routing socket in the namespace that it was opened in.
#[derive(Debug)]
pub struct Netlink {
    conversation: Conversation,
}

impl Netlink {
    /// Opens a socket in this thread's network namespace.
    pub fn open() -> Result<Self> {
        let conversation =
            Conversation::open("socket(NETLINK_ROUTE)", netlink_sys::protocols::NETLINK_ROUTE)?;
        Ok(Self { conversation })
    }

    /// `object` is what an error calls it: mostly the interface's name.
    fn ask(
        &mut self,
        call: &'static str,
        object: &str,
        message: &RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<Reply>> {
        let mut payload = vec![0; NetlinkSerializable::buffer_len(message)];
        message.serialize(&mut payload);
        let kind = message.message_type();
        self.conversation.exchange(&Request { call, object, kind, flags, payload })
    }
}

/// Bytes of anything that the packet crates can write.
fn emitted(what: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; what.buffer_len()];
    what.emit(&mut bytes);
    bytes
}
