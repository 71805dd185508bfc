//! What the backends are, and how they change.

use crate::differential::Rng;

use super::net::Net;
use super::{Delivery, Options, PORT, SERVICE};

#[derive(Debug)]
pub struct Backends {
    pub rng: Rng,
    delivery: Delivery,
    /// Weight of each; 0 for one that is not in the file.
    weights: Vec<u16>,
    states: Vec<&'static str>,
    /// Backends that are set down, whose connections end.
    down: Vec<u8>,
}

impl Backends {
    pub fn new(options: &Options) -> Self {
        Self {
            rng: Rng::new(options.seed),
            delivery: options.delivery,
            weights: vec![1; options.backends],
            states: vec!["up"; options.backends],
            down: Vec::new(),
        }
    }

    /// Changes one or two backends. At least one remains, so that the service always has one.
    pub fn change(&mut self) {
        for _ in 0..1 + self.rng.below(2) {
            let one = self.rng.below(self.weights.len());
            match self.rng.below(6) {
                0 | 1 => self.weights[one] = 0,
                2 => self.weights[one] = 1 + self.rng.below(4) as u16,
                3 => self.states[one] = "drain",
                4 => self.states[one] = "down",
                _ => (self.weights[one], self.states[one]) = (1, "up"),
            }
        }
        let is_in_use = |number: usize| self.weights[number] > 0 && self.states[number] == "up";
        if !(0..self.weights.len()).any(is_in_use) {
            (self.weights[0], self.states[0]) = (1, "up");
        }
        let is_down = |number: &usize| self.weights[*number] > 0 && self.states[*number] == "down";
        self.down = (0..self.weights.len()).filter(is_down).map(|number| number as u8).collect();
    }

    pub fn down(&self) -> &[u8] {
        &self.down
    }

    /// The file of services.
    pub fn text(&self, net: &Net) -> String {
        let rows = (0..self.weights.len()).filter(|number| self.weights[*number] > 0);
        let rows = rows.map(|number| {
            let (weight, state) = (self.weights[number], self.states[number]);
            let address = net.address(number);
            format!("    {{ address = '{address}', weight = {weight}, state = '{state}' }},\n")
        });
        let delivery = match self.delivery {
            Delivery::Mac => "'mac'",
            Delivery::Geneve => "{ geneve = {} }",
        };
        format!(
            "key = 'of the lab'\n{}[[service]]\nname = 'web'\naddress = '{SERVICE}'\n\
             protocol = 'tcp'\nport = {PORT}\ndelivery = {delivery}\nbackend = [\n{}]\n",
            net.sync_table(),
            rows.collect::<String>()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_always_has_a_backend() {
        let mut backends = Backends::new(&Options { seed: 7, backends: 3, ..Options::default() });
        for _ in 0..1000 {
            backends.change();
            let in_use = (0..3).filter(|n| backends.weights[*n] > 0 && backends.states[*n] == "up");
            let in_use: Vec<_> = in_use.collect();
            assert!(!in_use.is_empty());
            assert!(backends.down().iter().all(|number| !in_use.contains(&usize::from(*number))));
        }
    }
}
