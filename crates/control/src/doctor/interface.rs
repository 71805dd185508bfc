//! An interface as XDP sees it: driver, queues, offloads that interfere, the peer of a veth pair,
//! and what to do.
//!
//! Rule: reading needs no rights and changes nothing; what a driver does not report is unknown.

use serde::Serialize;
use sys::net::ethtool::Ethtool;
use sys::net::{Link, NetdevFamily, XdpFeatures};

/// An interface of this namespace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InterfaceReport {
    /// Name of the driver; `null` for interfaces without one, such as loopback.
    pub driver: Option<String>,
    /// Enabled by its administrator.
    pub up: bool,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Receive and transmit queues.
    pub queues: Queues,
    /// Speed of the link in Mbit/s; `null` if it is unknown.
    pub speed_mbit: Option<u32>,
    /// The driver runs programs itself; `null` if the kernel does not report it (before Linux 6.3).
    pub native: Option<bool>,
    /// Names of the driver's XDP features; empty if the kernel does not report them.
    pub features: Vec<&'static str>,
    /// Descriptors of the rings; `null` for devices without them.
    pub rings: Option<RingSizes>,
    /// Names of enabled offloads that merge packets or take parts of them before XDP sees them.
    pub offloads: Vec<String>,
    /// The other end of a veth pair; `null` for other interfaces.
    pub peer: Option<Peer>,
    /// Ids of the programs that run on it.
    pub programs: Vec<u32>,
    /// What to change, the most important first.
    pub advice: Vec<Advice>,
}

/// Numbers of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queues {
    /// Receive queues in use.
    pub rx: u32,
    /// Transmit queues in use.
    pub tx: u32,
    /// Most queues that the device has; `null` if the driver does not report it.
    pub max: Option<u32>,
}

/// Descriptors of a receive and a transmit ring, in use and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RingSizes {
    /// Descriptors of a receive ring.
    pub rx: u32,
    /// Largest receive ring.
    pub max_rx: u32,
    /// Descriptors of a transmit ring.
    pub tx: u32,
    /// Largest transmit ring.
    pub max_tx: u32,
}

/// The other end of a veth pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Name of the interface; `null` if it is in another network namespace.
    pub name: Option<String>,
    /// It merges packets (GRO); `null` if it is in another network namespace.
    pub gro: Option<bool>,
    /// A program runs on it; `null` if it is in another network namespace.
    pub program: Option<bool>,
}

/// What to change on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The problem, as a sentence.
    pub problem: String,
    /// The command that solves it; `null` if none does.
    pub command: Option<String>,
}

/// Examines an interface; `links` are all of the namespace.
pub fn examine(link: &Link, links: &[Link]) -> InterfaceReport {
    let ethtool = Ethtool::open().ok();
    let ethtool = ethtool.as_ref();
    let name = &link.name;
    let features = NetdevFamily::open().and_then(|mut netdev| netdev.xdp_features(link.ifindex));
    let features = features.ok();
    let mut report = InterfaceReport {
        driver: ethtool.and_then(|one| one.driver(name).ok()).map(|driver| driver.name),
        up: link.up,
        mtu: link.mtu,
        queues: queues(link, ethtool),
        speed_mbit: ethtool.and_then(|one| one.speed_mbit(name).ok()).flatten(),
        native: features.map(|features| features.native()),
        features: features.map(|features| features.names()).unwrap_or_default(),
        rings: ethtool.and_then(|one| one.rings(name).ok()).map(|rings| RingSizes {
            rx: rings.rx,
            max_rx: rings.max_rx,
            tx: rings.tx,
            max_tx: rings.max_tx,
        }),
        offloads: ethtool.map(|one| offloads(name, one)).unwrap_or_default(),
        peer: (link.kind == "veth").then(|| peer(link, links, ethtool)),
        programs: link.xdp.programs().map(|(_, id)| id).collect(),
        advice: Vec::new(),
    };
    report.advice = advice(name, &report, features);
    report
}

fn queues(link: &Link, ethtool: Option<&Ethtool>) -> Queues {
    let channels = ethtool.and_then(|one| one.channels(&link.name).ok());
    let Some(channels) = channels else {
        return Queues { rx: link.rx_queues, tx: link.tx_queues, max: None };
    };
    Queues {
        rx: channels.rx + channels.combined,
        tx: channels.tx + channels.combined,
        max: Some(channels.max_combined.max(channels.max_rx)),
    }
}

/// Enabled offloads that change what a program sees.
fn offloads(name: &str, ethtool: &Ethtool) -> Vec<String> {
    let features = ethtool.features(name).unwrap_or_default();
    let on = features
        .into_iter()
        .filter(|feature| feature.active && INTERFERING.contains(&&*feature.name));
    on.map(|feature| feature.name).collect()
}

fn peer(link: &Link, links: &[Link], ethtool: Option<&Ethtool>) -> Peer {
    let here = link.peer.filter(|_| !link.peer_elsewhere);
    let peer = here.and_then(|index| links.iter().find(|one| one.ifindex == index));
    peer.map_or_else(Peer::default, |peer| Peer {
        name: Some(peer.name.clone()),
        gro: ethtool.and_then(|one| one.feature(&peer.name, "rx-gro").ok()),
        program: Some(!peer.xdp.is_empty()),
    })
}

fn advice(name: &str, report: &InterfaceReport, features: Option<XdpFeatures>) -> Vec<Advice> {
    let mut advice = Vec::new();
    let mut add =
        |problem: String, command: Option<String>| advice.push(Advice { problem, command });
    if !report.up {
        add("it is down: no packet arrives".to_owned(), Some(format!("ip link set {name} up")));
    }
    if report.native == Some(false) {
        let problem = "its driver has no native mode: programs run in generic mode, after the \
                       packet was copied";
        add(problem.to_owned(), Some(format!("xway attach {name} PROGRAM --mode generic")));
    }
    if report.mtu > SINGLE_BUFFER && features.is_some_and(|features| !features.multi_buffer()) {
        let problem = format!(
            "its MTU of {} does not fit one buffer, and the driver supports no other: native mode \
             is refused",
            report.mtu
        );
        add(problem, Some(format!("ip link set {name} mtu {SINGLE_BUFFER}")));
    }
    for offload in report.offloads.iter().filter(|offload| offload.as_str() != "rx-vlan-offload") {
        let problem = format!("{offload} merges packets, and drivers refuse native mode with it");
        add(problem, Some(format!("ethtool -K {name} {offload} off")));
    }
    if report.offloads.iter().any(|offload| offload == "rx-vlan-offload") {
        let problem = "the device takes VLAN tags out of frames: a program that does not ask for \
                       them sees none";
        add(problem.to_owned(), Some(format!("ethtool -K {name} rxvlan off")));
    }
    if let Some(Peer { name: Some(peer), gro: Some(false), program: Some(false) }) = &report.peer {
        let problem = format!(
            "what is redirected to it is lost, because {peer} has neither GRO nor a program"
        );
        add(problem, Some(format!("ethtool -K {peer} gro on")));
    }
    if let Some(max) = report.queues.max.filter(|max| *max > report.queues.rx) {
        let problem =
            format!("it uses {} of {max} queues, each served by one CPU", report.queues.rx);
        add(problem, Some(format!("ethtool -L {name} combined {max}")));
    }
    advice
}

/// Offloads that merge packets, or take tags out of them.
const INTERFERING: [&str; 3] = ["rx-lro", "rx-gro-hw", "rx-vlan-offload"];
/// Largest MTU that fits one buffer of common drivers, in bytes.
const SINGLE_BUFFER: u32 = 3498;

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(report: &InterfaceReport, features: Option<XdpFeatures>) -> Vec<String> {
        advice("eth1", report, features).into_iter().filter_map(|one| one.command).collect()
    }

    #[test]
    fn each_problem_has_a_command() {
        let fine =
            InterfaceReport { up: true, mtu: 1500, native: Some(true), ..Default::default() };
        assert_eq!(commands(&fine, Some(XdpFeatures::default())), [""; 0]);
        let down = InterfaceReport { up: false, ..fine.clone() };
        assert_eq!(commands(&down, None), ["ip link set eth1 up"]);
        let large = InterfaceReport { mtu: 9000, ..fine.clone() };
        assert_eq!(commands(&large, Some(XdpFeatures::default())), ["ip link set eth1 mtu 3498"]);
        assert_eq!(commands(&large, None), [""; 0], "the driver's features are unknown");
        let merging = InterfaceReport {
            offloads: vec!["rx-lro".to_owned(), "rx-vlan-offload".to_owned()],
            ..fine.clone()
        };
        let expected = ["ethtool -K eth1 rx-lro off", "ethtool -K eth1 rxvlan off"];
        assert_eq!(commands(&merging, None), expected);
        let name = Some("eth2".to_owned());
        let peer = Peer { name, gro: Some(false), program: Some(false) };
        let veth = InterfaceReport { peer: Some(peer.clone()), ..fine.clone() };
        assert_eq!(commands(&veth, None), ["ethtool -K eth2 gro on"]);
        let veth = InterfaceReport { peer: Some(Peer { gro: None, ..peer }), ..fine.clone() };
        assert_eq!(commands(&veth, None), [""; 0]);
        let queues = Queues { rx: 1, tx: 1, max: Some(8) };
        let few = InterfaceReport { queues, ..fine };
        assert_eq!(commands(&few, None), ["ethtool -L eth1 combined 8"]);
    }
}
