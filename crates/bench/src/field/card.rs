//! Network cards named on the command line: whether they may be used, and what frames on them
//! carry.
//!
//! Rule: a card is used as it is; nothing here changes its settings. A card that carries the
//! default route or a connection is refused, also below a bridge, bond or VLAN. Not here: how a
//! card differs from the paper's (`nic`).

use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result, bail, ensure};
use packet::Mac;
use sys::net::{Ifindex, Link, NetdevFamily, Netlink, inet_sockets, underneath};

use super::Place;

/// The sender and the receiver: `peer` may be the address of a card on another host.
pub fn open(iface: &str, peer: &str) -> Result<(Place, Place)> {
    let surroundings = Surroundings::read()?;
    let receiver = surroundings.card(iface)?;
    is_silent(&receiver)?;
    if let Ok(mac) = peer.parse::<Mac>() {
        let own = receiver.mac == Some(mac);
        ensure!(!own, "{mac} is {iface} itself: name the card that sends to it");
        return Ok((Place::away(mac), Place::home(&receiver.name)));
    }
    let sender = surroundings.card(peer)?;
    let differ = sender.ifindex != receiver.ifindex;
    ensure!(differ, "--dev and --peer are both {iface}: name the two ends of a cable");
    Ok((Place::home(&sender.name), Place::home(&receiver.name)))
}

/// Source and destination of frames. For a card without addresses they are those that RFC 2544
/// reserves for measurements; else an unused one of its network, because a host drops packets that
/// claim to be from itself.
pub fn addresses(receiver: &Place) -> Result<(Ipv4Addr, Ipv4Addr)> {
    let Ok((own, prefix)) = receiver.network() else { return Ok(BENCHMARK) };
    let local: Vec<IpAddr> =
        receiver.netlink()?.addresses()?.iter().map(|address| address.ip).collect();
    let neighbour = neighbours(own, prefix).find(|ip| !local.contains(&IpAddr::V4(*ip)));
    Ok((neighbour.unwrap_or(BENCHMARK.0), own))
}

/// Processors that a card's interrupts come to; none for virtual cards, or before Linux 6.8.
pub fn interrupted(place: &Place) -> Vec<usize> {
    let napis = || -> Result<_> {
        let ifindex = place.ifindex()?;
        Ok(place.run(|| NetdevFamily::open()?.napis(ifindex))??)
    };
    let irqs = napis().unwrap_or_default().into_iter().filter_map(|napi| napi.irq);
    let mut cpus: Vec<usize> = irqs.filter_map(sys::cpu::of_interrupt).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// A processor for the flood and one for processes, other than those that the card keeps busy if
/// there are enough.
pub fn processors(allowed: &[usize], busy: &[usize]) -> Result<(usize, usize)> {
    let first = allowed.first().context("no processor may be used")?;
    let free: Vec<usize> = allowed.iter().copied().filter(|cpu| !busy.contains(cpu)).collect();
    let sender = *free.last().or(allowed.last()).unwrap_or(first);
    let rest = |cpus: &[usize]| cpus.iter().copied().find(|cpu| *cpu != sender);
    Ok((sender, rest(&free).or_else(|| rest(allowed)).unwrap_or(*first)))
}

/// The interfaces of the namespace, and which of them are in use.
struct Surroundings {
    links: Vec<Link>,
    /// Interfaces of default routes.
    ways_out: Vec<Ifindex>,
    /// Interfaces that have an end of an established connection, and its other end.
    connected: Vec<(Ifindex, IpAddr)>,
}

impl Surroundings {
    fn read() -> Result<Self> {
        let mut netlink = Netlink::open()?;
        let routes = netlink.table_routes()?.into_iter().filter(|route| route.prefix == 0);
        let ways_out = routes.flat_map(|route| route.hops).map(|hop| hop.ifindex).collect();
        let addresses = netlink.addresses()?;
        let sockets = inet_sockets()?.into_iter().filter(|one| one.state == ESTABLISHED);
        let connected = sockets.filter_map(|socket| {
            let local = socket.local.ip().to_canonical();
            let owner = addresses.iter().find(|address| address.ip == local)?;
            Some((owner.ifindex, socket.remote.ip().to_canonical()))
        });
        let connected = connected.collect();
        Ok(Self { links: netlink.links()?, ways_out, connected })
    }

    /// An interface that may be used.
    fn card(&self, name: &str) -> Result<Link> {
        let Some(link) = self.links.iter().find(|link| link.name == name) else {
            bail!("there is no interface {name} here: `ip link` shows which there are");
        };
        self.refuse_in_use(link)?;
        ensure!(!link.loopback, "{name} is the loopback: name a network card");
        ensure!(link.up, "{name} is down: `ip link set {name} up`");
        ensure!(link.running, "{name} has no link: is it cabled, and its other end up?");
        if let Some((mode, id)) = link.xdp.programs().next() {
            bail!(
                "{name} has an XDP program already ({}, id {id}): `xway detach {name}`",
                mode.name()
            );
        }
        Ok(link.clone())
    }

    /// Refuses a card that another use depends on.
    fn refuse_in_use(&self, link: &Link) -> Result<()> {
        let (name, ifindex) = (&link.name, link.ifindex);
        let passes = |upper: Ifindex| underneath(upper, &self.links).contains(&ifindex);
        if self.ways_out.iter().any(|way| passes(*way)) {
            bail!("{name} carries the default route: a flood on it would cut this host off");
        }
        if let Some((_, remote)) = self.connected.iter().find(|(owner, _)| passes(*owner)) {
            bail!("{name} carries a connection with {remote}: a flood on it would break it");
        }
        if let Some(master) = link.master {
            let master = self.links.iter().find(|one| one.ifindex == master);
            let master = master.map_or("another interface", |one| one.name.as_str());
            bail!("{name} belongs to {master}: `ip link set {name} nomaster`, or name another");
        }
        Ok(())
    }
}

/// Refuses a host that forwards: it would forward packets to addresses that it does not have.
fn is_silent(receiver: &Link) -> Result<()> {
    let name = &receiver.name;
    if Place::home(name).ipv4().is_ok() {
        return Ok(());
    }
    let forwards = sys::proc::setting(&format!("net/ipv4/conf/{name}/forwarding"));
    let is_silent = forwards.is_ok_and(|value| value == "0");
    ensure!(
        is_silent,
        "{name} forwards, so what is not ended would be sent on: give it an address, or \
         `sysctl -w net/ipv4/conf/{name}/forwarding=0`"
    );
    Ok(())
}

/// Hosts of a network, the last first.
fn neighbours(own: Ipv4Addr, prefix: u8) -> impl Iterator<Item = Ipv4Addr> {
    let hosts = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
    let network = own.to_bits() & !hosts;
    let most = hosts.saturating_sub(1);
    (1..=most).rev().take(TRIED).map(move |host| Ipv4Addr::from_bits(network | host))
}

const ESTABLISHED: u8 = 1;
/// Addresses of RFC 2544's network, 198.18.0.0/15.
const BENCHMARK: (Ipv4Addr, Ipv4Addr) =
    (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2));
/// Maximum number of addresses of a network that are tried.
const TRIED: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str) -> Link {
        let (ifindex, name) = (Ifindex(index), name.to_owned());
        Link { ifindex, name, up: true, running: true, ..Link::default() }
    }

    fn surroundings() -> Surroundings {
        let member = Link { master: Some(Ifindex(4)), ..link(2, "eth2") };
        let vlan = Link { kind: "vlan".into(), peer: Some(Ifindex(4)), ..link(5, "out") };
        let bond = Link { kind: "bond".into(), ..link(4, "bond0") };
        let port = Link { master: Some(Ifindex(7)), ..link(6, "eth6") };
        let mut busy = link(9, "eth9");
        busy.xdp.native = Some(17);
        let links = vec![
            Link { loopback: true, ..link(1, "lo") },
            member,
            link(3, "eth3"),
            bond,
            vlan,
            port,
            link(7, "br0"),
            Link { up: false, running: false, ..link(8, "eth8") },
            busy,
            Link { running: false, ..link(10, "eth10") },
            link(11, "ssh0"),
        ];
        let connected = vec![(Ifindex(11), [192, 0, 2, 1].into())];
        Surroundings { links, ways_out: vec![Ifindex(5)], connected }
    }

    #[test]
    fn cards_in_use_are_refused_with_the_reason() {
        let surroundings = surroundings();
        for (name, reason) in [
            ("lo", "loopback"),
            ("eth1", "there is no interface eth1"),
            ("out", "carries the default route"),
            ("bond0", "carries the default route"),
            ("eth2", "carries the default route"),
            ("eth6", "belongs to br0"),
            ("eth8", "`ip link set eth8 up`"),
            ("eth9", "has an XDP program already (native, id 17)"),
            ("eth10", "has no link"),
            ("ssh0", "a connection with 192.0.2.1"),
        ] {
            let said = surroundings.card(name).unwrap_err().to_string();
            assert!(said.contains(reason), "{name}: {said}");
        }
        assert_eq!(surroundings.card("eth3").unwrap().ifindex, Ifindex(3));
    }

    #[test]
    fn a_neighbour_is_in_the_network_and_no_broadcast() {
        let of = |prefix| neighbours(Ipv4Addr::new(10, 1, 2, 3), prefix).next();
        assert_eq!(of(24), Some(Ipv4Addr::new(10, 1, 2, 254)));
        assert_eq!(of(30), Some(Ipv4Addr::new(10, 1, 2, 2)));
        assert_eq!(of(0), Some(Ipv4Addr::new(255, 255, 255, 254)));
        assert_eq!((of(31), of(32)), (None, None));
    }

    #[test]
    fn the_flood_stays_away_from_the_cards_interrupts() {
        for (allowed, busy, want) in [
            (&[0, 1, 2, 3][..], &[][..], (3, 0)),
            (&[0, 1, 2, 3], &[3], (2, 0)),
            (&[0, 1, 2, 3], &[0, 1, 3], (2, 0)),
            (&[0, 1], &[0, 1], (1, 0)),
            (&[0, 1], &[1], (0, 1)),
            (&[5], &[5], (5, 5)),
        ] {
            assert_eq!(processors(allowed, busy).unwrap(), want, "{allowed:?} {busy:?}");
        }
        assert!(processors(&[], &[]).is_err());
    }
}
