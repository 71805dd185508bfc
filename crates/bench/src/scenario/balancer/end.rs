//! Test runs of what the other cases do not have: translation of addresses, and the program of a
//! backend.
//!
//! Rule: a packet from a backend belongs to a flow that the program itself began, and a tunnel is
//! what the balancer of the same services would send.

use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use functions::backend;
use functions::balancer::{self, Config, Delivery, Maps, Nat, Network, TX, Tunnel};
use kernel::{LoadOptions, Map, Object, TestRun};
use lab::frame::{Flow, Side, TcpFlags};
use packet::Mac;
use spec::{Expect, Map as _, Spec, Verdict};

use super::alone::{Loaded, Ready, arm, test_run};
use super::case::Case;
use super::put_back::{Address, PutBack};
use super::site::Site;
use super::{BASE, OURS};
use crate::harness::Arm;
use crate::scenario::test_run::{NOTHING, nothing};

/// A kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A packet of a translated flow, to its backend.
    NatToBackend,
    /// A packet of a translated flow, to its client.
    NatToClient,
    /// SYNs, each of another source.
    NatNewFlow,
    /// A tunnel that a backend opens.
    BackendIpip,
    BackendGue,
    BackendGeneve,
}

impl End {
    pub const ALL: [Self; 6] = [
        Self::NatToBackend,
        Self::NatToClient,
        Self::NatNewFlow,
        Self::BackendIpip,
        Self::BackendGue,
        Self::BackendGeneve,
    ];

    /// Its name in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NatToBackend => "nat/to-backend",
            Self::NatToClient => "nat/to-client",
            Self::NatNewFlow => "nat/new-flow",
            Self::BackendIpip => "backend/ipip",
            Self::BackendGue => "backend/gue",
            Self::BackendGeneve => "backend/geneve",
        }
    }

    /// The rows of the case.
    pub fn arm(self, site: &Site) -> Arm<'_> {
        arm(site, self.name(), move || match self {
            Self::NatToBackend | Self::NatToClient | Self::NatNewFlow => self.translated(site),
            Self::BackendIpip | Self::BackendGue | Self::BackendGeneve => self.opened(site),
        })
    }

    fn delivery(self) -> Delivery {
        match self {
            Self::NatToBackend | Self::NatToClient | Self::NatNewFlow => Delivery::Nat,
            Self::BackendIpip => Delivery::Ipip,
            Self::BackendGue => Delivery::Gue(Tunnel::default()),
            Self::BackendGeneve => Delivery::Geneve(Tunnel::default()),
        }
    }

    fn config(self) -> Result<Config> {
        let mut config = Case::V4.config(false)?;
        let service = Network(Case::V4.service().to_string().parse()?);
        config.services.retain(|one| one.address == service);
        config.services.iter_mut().for_each(|service| service.delivery = self.delivery());
        if self.delivery() == Delivery::Nat {
            let (source, tcp_idle_s, idle_s) = (vec![Network(POOL.parse()?)], IDLE_S, IDLE_S);
            config.nat = Some(Nat { source, tcp_idle_s, idle_s });
        }
        Ok(config)
    }

    fn translated(self, site: &Site) -> Result<Ready> {
        let config = self.config()?;
        let mut spec = Spec::parse("balancer", config.object())?;
        config.apply(&mut spec)?;
        let (mut frame, mut reuse) = (Case::V4.frame(site.macs)?, Vec::new());
        match self {
            Self::NatNewFlow => frame = Case::Syn.frame(site.macs)?,
            Self::NatToClient => (frame, reuse) = begun(site, &config, &spec, &frame)?,
            _ => (_, reuse) = begun(site, &config, &spec, &frame)?,
        }
        let varies = (self == Self::NatNewFlow).then_some(Address::Source);
        let put_back = PutBack { frame, varies, headers: IPV4 + TCP };
        let is_new = reuse.is_empty();
        let object = put_back.load(&spec, balancer::PROGRAM, reuse)?;
        if is_new {
            fill(site, &config, &object)?;
        }
        let length = put_back.frame.len();
        self.ready(site, put_back, (object, balancer::PROGRAM), Verdict::Tx, length)
    }

    fn opened(self, site: &Site) -> Result<Ready> {
        let config = self.config()?;
        let (service, all) = (config.services.first(), |text: &str| text.parse().map(Network));
        let service = service.context("no service")?;
        let backend = service.backends.first().context("no backend")?;
        let inner = Case::V4.frame(site.macs)?;
        let outer = balancer::wrap(&config, service, backend, &inner[ETHERNET..]);
        let frame = [&inner[..ETHERNET], &outer].concat();
        let ends = backend::Config {
            from: config.source.clone(),
            service: vec![service.address],
            address: vec![all(&backend.address.to_string())?],
            ..backend::Config::default()
        };
        let mut spec = Spec::parse("backend", backend::OBJECT)?;
        ends.apply(&mut spec);
        let headers = (outer.len() - (inner.len() - ETHERNET)).next_multiple_of(8);
        let put_back = PutBack { frame, varies: None, headers };
        let object = put_back.load(&spec, backend::PROGRAM, Vec::new())?;
        backend::update(&ends, &backend::Maps::find(|name| object.map(name))?)?;
        self.ready(site, put_back, (object, backend::PROGRAM), Verdict::Pass, inner.len())
    }

    fn ready(
        self,
        site: &Site,
        put_back: PutBack,
        (object, program): (Object, &'static str),
        verdict: Verdict,
        length: usize,
    ) -> Result<Ready> {
        let base = put_back.load(&nothing()?, NOTHING, Vec::new())?;
        let programs = vec![
            Loaded { row: OURS, object, program },
            Loaded { row: BASE, object: base, program: NOTHING },
        ];
        let run = test_run(site, put_back.frame)?;
        Ok(Ready { name: self.name(), programs, run, verdict, length })
    }
}

fn fill(site: &Site, config: &Config, object: &Object) -> Result<()> {
    balancer::update(config, &Maps::find(|name| object.map(name))?)?;
    let port = site.near.ifindex()?.0.to_ne_bytes();
    // The kernel resolves the number in the namespace of the writing thread.
    Ok(site.near.run(|| object.map(TX)?.update(&port, &port, Expect::Any))??)
}

/// A packet of a backend, and the maps with the flow that it belongs to.
type Begun = (Vec<u8>, Vec<(String, Map)>);

/// Begins a flow.
fn begun(site: &Site, config: &Config, spec: &Spec, frame: &[u8]) -> Result<Begun> {
    let programs = Some(vec![balancer::PROGRAM.to_owned()]);
    let object = Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?;
    fill(site, config, &object)?;
    let program = object.program(balancer::PROGRAM)?;
    let pass_through = |packet: Vec<u8>| {
        let run = TestRun { repeat: 1, ..test_run(site, packet)? };
        let outcome = site.near.run(|| {
            let _attached = site.near.attach(program, kernel::Mode::Native)?;
            Ok::<_, anyhow::Error>(program.run(&run)?)
        })??;
        let verdict = outcome.verdict();
        ensure!(verdict == Verdict::Tx, "a packet of a handshake: {verdict}");
        Ok(outcome.packet)
    };
    let sent = pass_through(Case::Syn.frame(site.macs)?)?;
    ensure!(sent.len() == frame.len(), "the first packet of a flow has {} bytes", sent.len());
    let side = |mac: Mac, address: usize, port: usize| Side {
        mac,
        ip: IpAddr::from([0, 1, 2, 3].map(|n| sent[address + n])),
        port: u16::from_be_bytes([sent[port], sent[port + 1]]),
    };
    let [pool, backend] = [side(site.macs[1], 26, 34), side(site.macs[0], 30, 36)];
    let answer = |syn| {
        let flags = TcpFlags { syn, ack: true, ..TcpFlags::default() };
        Flow::new(backend, pool).tcp(flags, 1, PAYLOAD)
    };
    pass_through(answer(true)?)?;
    // From now on it is established.
    pass_through(frame.to_vec())?;
    let shared = spec.maps.iter().filter(|map| !map.name.contains('.'));
    let shared = shared.map(|map| Ok((map.name.clone(), object.map(&map.name)?.duplicate()?)));
    Ok((answer(false)?, shared.collect::<Result<_>>()?))
}

/// Where translated packets come from.
const POOL: &str = "10.0.1.250";
/// Longer than a run.
const IDLE_S: u32 = 36_000;
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
/// Bytes that make a frame of 60 bytes.
const PAYLOAD: &[u8] = b"packet";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cases_have_names_of_their_own() {
        let names = End::ALL.map(End::name).into_iter().chain(Case::ALL.map(Case::name));
        let names: BTreeSet<_> = names.collect();
        assert_eq!(names.len(), End::ALL.len() + Case::ALL.len());
    }

    #[test]
    fn services_are_valid() {
        for end in End::ALL {
            end.config().unwrap().check().unwrap();
        }
    }
}
