//! Frames from the sender, as XDP live frames on its processors.

use std::time::Duration;

use anyhow::{Result, ensure};
use traffic::Rate;
use traffic::Template;
use traffic::generator::{Config, Generator, Load};

use super::{Field, Place};

/// A flood; dropping it ends it, unless it comes from another host.
#[derive(Debug)]
pub struct Flood {
    generator: Option<Generator>,
}

impl Flood {
    /// Starts a flood; returns after its first frames were passed to the driver.
    pub(super) fn start(
        field: &Field,
        frame: Vec<u8>,
        rate: Option<u64>,
        longest: Duration,
    ) -> Result<Self> {
        if field.sender.is_away() {
            ensure!(rate.is_none(), "{} is on another host: its rate is set there", field.sender);
            return Ok(Self { generator: None });
        }
        let streams = vec![Template::constant("flood", frame)];
        Self::streams(&field.sender, field.sender_cpu, streams, rate, longest)
    }

    /// Starts a flood of varying frames from any place.
    pub fn streams(
        sender: &Place,
        cpu: usize,
        streams: Vec<Template>,
        rate: Option<u64>,
        longest: Duration,
    ) -> Result<Self> {
        let config = Config {
            cpus: vec![cpu],
            profile: rate.map_or(Rate::Max, |pps| Rate::PacketsPerSecond(pps as f64)).into(),
            ..Config::new(sender.device(), Load::Streams(streams))
        };
        Self::of(sender, config, longest)
    }

    /// Starts a flood with any configuration of the generator.
    pub fn of(sender: &Place, config: Config, longest: Duration) -> Result<Self> {
        let config = Config { duration: Some(longest + START), ..config };
        let generator = sender.run(|| Generator::start(config))??;
        lab::until("the flood", START, || Ok((generator.given() > 0).then_some(())))?;
        Ok(Self { generator: Some(generator) })
    }

    /// Prepares a flood of one frame that sends nothing until [`go`](Self::go).
    pub(super) fn held(field: &Field, frame: Vec<u8>, longest: Duration) -> Result<Self> {
        let streams = Load::Streams(vec![Template::constant("flood", frame)]);
        let config = Config {
            cpus: vec![field.sender_cpu],
            duration: Some(longest),
            held: true,
            ..Config::new(field.sender.device(), streams)
        };
        let generator = field.sender.run(|| Generator::start(config))??;
        Ok(Self { generator: Some(generator) })
    }

    /// Starts to send, also after [`hold`](Self::hold).
    pub fn go(&self) {
        self.generator.iter().for_each(Generator::go);
    }

    /// Stops sending until [`go`](Self::go).
    pub fn hold(&self) {
        self.generator.iter().for_each(Generator::hold);
    }

    /// Frames passed to the driver so far; 0 if they come from another host.
    pub fn given(&self) -> u64 {
        self.generator.as_ref().map_or(0, Generator::given)
    }
}

/// Longest start of a flood: a page pool is created and a grace period of the kernel passes.
const START: Duration = Duration::from_secs(5);
