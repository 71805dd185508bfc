//! Frames from the sender, as XDP live frames on one processor.

use std::time::Duration;

use anyhow::Result;
use traffic::Rate;
use traffic::Template;
use traffic::generator::{Config, Generator, Load};

use super::Field;

/// Ends when dropped.
#[derive(Debug)]
pub struct Flood {
    generator: Generator,
}

impl Flood {
    /// Runs when it returns: the first frames were given to the driver.
    pub(super) fn start(
        field: &Field,
        frame: Vec<u8>,
        rate: Option<u64>,
        longest: Duration,
    ) -> Result<Self> {
        let load = Load::Streams(vec![Template::constant("flood", frame)]);
        let config = Config {
            duration: Some(longest + START),
            cpus: vec![field.sender_cpu],
            profile: rate.map_or(Rate::Max, |pps| Rate::PacketsPerSecond(pps as f64)).into(),
            ..Config::new(field.sender.device(), load)
        };
        let generator = field.sender.run(|| Generator::start(config))??;
        lab::until("the flood", START, || Ok((generator.given() > 0).then_some(())))?;
        Ok(Self { generator })
    }

    /// Frames that the driver was given so far.
    pub fn given(&self) -> u64 {
        self.generator.given()
    }
}

/// A flood takes a while to get going: a page pool is made and the kernel's grace period waited.
const START: Duration = Duration::from_secs(5);
