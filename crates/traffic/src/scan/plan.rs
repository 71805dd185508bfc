//! `Plan`: the probes of a scan by index.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use super::{Error, Key, Order, Space};

/// All probes of one pass, each with an index: an address and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    space: Space,
    ports: Vec<u16>,
    order: Order,
    shard: Shard,
}

/// Part `number` of `count`: every probe belongs to one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 on.
    number: u64,
    count: u64,
}

impl Plan {
    /// The probes of one pass. Without ports, each address has one probe, with port 0.
    pub fn new(
        space: Space,
        ports: Vec<u16>,
        key: Key,
        pass: u64,
        shard: Shard,
    ) -> Result<Self, Error> {
        let ports = if ports.is_empty() { vec![0] } else { ports };
        let total = space.len().checked_mul(ports.len() as u128).ok_or(Error::TooMany)?;
        let order = Order::new(total - 1, key, pass);
        Ok(Self { space, ports, order, shard })
    }

    pub const fn space(&self) -> &Space {
        &self.space
    }

    /// Ports of each address.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    pub const fn order(&self) -> &Order {
        &self.order
    }

    /// Number of probes of all shards.
    pub const fn total(&self) -> u128 {
        self.order.last() + 1
    }

    /// Number of probes of this shard.
    pub const fn len(&self) -> u128 {
        let (number, count) = (self.shard.number as u128, self.shard.count as u128);
        if number > self.total() { 0 } else { (self.total() - number) / count + 1 }
    }

    /// Whether this shard has no probes, because there are fewer of them than shards.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that all targets are of the family of the probes.
    pub(super) fn check_family(&self, is_ipv6: bool) -> Result<(), Error> {
        let is_other = |address: &IpAddr| address.is_ipv6() != is_ipv6;
        let firsts = self.space.blocks().iter().map(|block| self.space.address(block.rank));
        match firsts.into_iter().find(is_other) {
            Some(address) => Err(Error::Family { address }),
            None => Ok(()),
        }
    }

    /// The first index of this shard among all, and the distance to the next one.
    pub const fn indexes(&self) -> (u128, u128) {
        (self.shard.number as u128 - 1, self.shard.count as u128)
    }

    /// The target of a probe of this shard.
    ///
    /// # Panics
    /// The index is not less than [`Plan::len`].
    pub fn target(&self, index: u128) -> SocketAddr {
        let (first, stride) = self.indexes();
        let number = self.order.at(first + index * stride);
        let ports = self.ports.len() as u128;
        let port = self.ports[(number % ports) as usize];
        SocketAddr::new(self.space.address(number / ports), port)
    }

    /// The index of a target among all shards; `None` if it is not one.
    pub fn index_of(&self, target: SocketAddr) -> Option<u128> {
        let rank = self.space.rank(target.ip())?;
        let port = self.ports.iter().position(|port| *port == target.port())?;
        Some(self.order.index_of(rank * self.ports.len() as u128 + port as u128))
    }

    /// Time for this shard at a rate in probes a second.
    pub fn time(&self, rate_pps: f64) -> Duration {
        let seconds = self.len() as f64 / rate_pps;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Expected rate of probes to the network of /24 or /48 that has the most targets.
    pub fn rate_in_network(&self, rate_pps: f64) -> f64 {
        let most = self.space.most_in_network() as f64 / self.space.len() as f64;
        rate_pps * most
    }
}

impl Shard {
    /// The only part.
    pub const ALL: Self = Self { number: 1, count: 1 };

    /// Part `number` of `count`, from 1 on; `None` for a number that is not from 1 to `count`.
    pub const fn new(number: u64, count: u64) -> Option<Self> {
        match number >= 1 && number <= count {
            true => Some(Self { number, count }),
            false => None,
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split_once('/');
        let shard =
            parts.and_then(|(number, count)| Self::new(number.parse().ok()?, count.parse().ok()?));
        shard.ok_or_else(|| Error::Shard { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Reach, Targets};
    use super::*;

    fn plan(texts: &[&str], ports: &[u16], pass: u64, shard: &str) -> Plan {
        let mut targets = Targets::default();
        texts.iter().for_each(|text| targets.add(text).unwrap());
        let (space, shard) = (targets.build().unwrap(), shard.parse().unwrap());
        Plan::new(space, ports.to_vec(), Key::from_seed(1), pass, shard).unwrap()
    }

    fn all(plan: &Plan) -> Vec<SocketAddr> {
        (0..plan.len()).map(|index| plan.target(index)).collect()
    }

    #[test]
    fn shards_cover_all_targets_once() {
        let texts = ["10.0.0.0/28", "2001:db8::/125"];
        let ports = [80, 443, 22];
        for count in [1, 2, 3, 7, 72, 100] {
            let shards =
                (1..=count).map(|number| plan(&texts, &ports, 0, &format!("{number}/{count}")));
            let mut found: Vec<SocketAddr> = shards.flat_map(|plan| all(&plan)).collect();
            assert_eq!(found.len(), 24 * 3);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), 24 * 3, "{count} shards");
        }
        assert!(plan(&texts, &ports, 0, "100/100").is_empty());
    }

    #[test]
    fn passes_have_other_orders_of_the_same_targets() {
        let (mut first, mut second) = (
            all(&plan(&["10.0.0.0/24"], &[], 0, "1/1")),
            all(&plan(&["10.0.0.0/24"], &[], 1, "1/1")),
        );
        assert_ne!(first, second);
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, second);
    }

    #[test]
    fn targets_have_their_index() {
        let plan = plan(&["10.0.0.0/20"], &[80, 81], 0, "1/1");
        for index in (0..plan.len()).step_by(97) {
            assert_eq!(plan.index_of(plan.target(index)), Some(index));
        }
        assert_eq!(plan.index_of("10.0.0.1:82".parse().unwrap()), None);
        assert_eq!(plan.index_of("11.0.0.1:80".parse().unwrap()), None);
    }

    #[test]
    fn time_and_rate() {
        let plan = plan(&["10.0.0.0/16"], &[1, 2], 0, "1/2");
        assert_eq!(plan.time(1000.0), Duration::from_millis(65_536));
        assert!((plan.rate_in_network(25_600.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn too_many_probes_are_refused() {
        let mut targets = Targets::default();
        targets.add("2000::/3").unwrap();
        targets.set_reach(Reach::Public);
        let space = targets.build().unwrap();
        let plan = Plan::new(space.clone(), vec![], Key::from_seed(1), 0, Shard::ALL).unwrap();
        assert_eq!(plan.index_of(plan.target(1 << 124)), Some(1 << 124));
        let wide = Plan::new(space, (1..=100).collect(), Key::from_seed(1), 0, Shard::ALL);
        assert_eq!(wide, Err(Error::TooMany));
    }

    #[test]
    fn shards_as_text() {
        assert_eq!("3/8".parse::<Shard>().unwrap().to_string(), "3/8");
        for text in ["0/8", "9/8", "3", "3/x", "", "1/0"] {
            let error = text.parse::<Shard>().unwrap_err();
            assert_eq!(error, Error::Shard { text: text.to_owned() });
        }
    }
}
