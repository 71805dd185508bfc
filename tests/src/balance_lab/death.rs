//! The death of a balancer and its return, while connections begin.

use lab::until;

use super::Moment;
use super::clients::Clients;
use super::flood::Flood;
use super::net::Net;
use crate::stage::PATIENCE;

/// What connections move between.
#[derive(Debug)]
pub struct Stage<'a> {
    pub net: &'a mut Net,
    pub clients: &'a mut Clients,
    pub flood: &'a mut Flood,
    /// Connections that begin meanwhile.
    pub beginning: usize,
}

impl Stage<'_> {
    /// The first balancer dies. The client's router notices that the link is down.
    pub fn let_die(&mut self) -> Moment {
        self.until_in_step(1, 0);
        let mut moment = None;
        let balancer = &mut self.net.balancers[0];
        self.clients.renew_during(self.beginning, || {
            moment = Some(Moment::now("a balancer died"));
            balancer.die();
        });
        self.net.route(&[1]);
        self.flood.spread(&[1]);
        moment.expect("the balancer died")
    }

    /// The first balancer returns. Connections reach it once it has the flows of its peer.
    pub fn let_return(&mut self, services: &str) -> Moment {
        let balancer = &mut self.net.balancers[0];
        balancer.boot();
        for name in ["left", "sync"].into_iter().chain(balancer.out.iter().map(String::as_str)) {
            let mut netlink = balancer.host.netlink().unwrap();
            until(&format!("the carrier of {name}"), PATIENCE, || {
                Ok(netlink.link(name)?.running.then_some(()))
            })
            .unwrap();
        }
        balancer.load(services, WAIT_SYNC);
        balancer.synchronize();
        self.flood.spread(&[0, 1]);
        self.until_in_step(0, 1);
        let mut moment = None;
        let net = &*self.net;
        self.clients.renew_during(self.beginning, || {
            moment = Some(Moment::now("a balancer returned"));
            net.route(&[0, 1]);
        });
        moment.expect("the balancer returned")
    }

    /// Waits until a balancer has the flows that another one has now.
    fn until_in_step(&self, one: usize, other: usize) {
        let balancers = &self.net.balancers;
        let (mut here, there) = (0, balancers[other].flows());
        let done = until("the flows of the other balancer", PATIENCE, || {
            here = balancers[one].flows();
            Ok((here >= there).then_some(()))
        });
        assert!(done.is_ok(), "{here} flows, not {there}");
    }
}

/// A balancer that boots waits for its peer, also on a busy machine.
const WAIT_SYNC: &str = "30s";
