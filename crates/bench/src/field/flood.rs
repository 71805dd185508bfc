//! Frames from the sender, as XDP live frames on its processors.

use std::time::Duration;

use anyhow::{Result, ensure};
use traffic::Rate;
use traffic::Template;
use traffic::generator::{Config, Generator, Load};

use super::{Field, Place};

/// Ends when dropped; one from another host does not.
#[derive(Debug)]
pub struct Flood {
    generator: Option<Generator>,
}

impl Flood {
    /// Runs when it returns: the first frames were given to the driver.
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

    /// The same with frames that vary, from any place.
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

    /// The same of anything that can be sent, on several processors or in other batches.
    pub fn of(sender: &Place, config: Config, longest: Duration) -> Result<Self> {
        let config = Config { duration: Some(longest + START), ..config };
        let generator = sender.run(|| Generator::start(config))??;
        lab::until("the flood", START, || Ok((generator.given() > 0).then_some(())))?;
        Ok(Self { generator: Some(generator) })
    }

    /// One frame again and again, but nothing until [`go`](Self::go).
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

    /// Sends, after [`hold`](Self::hold).
    pub fn go(&self) {
        self.generator.iter().for_each(Generator::go);
    }

    /// Sends nothing until told to go.
    pub fn hold(&self) {
        self.generator.iter().for_each(Generator::hold);
    }

    /// Frames that the driver was given so far; of another host's, none are known.
    pub fn given(&self) -> u64 {
        self.generator.as_ref().map_or(0, Generator::given)
    }
}

/// A flood takes a while to get going: a page pool is made and the kernel's grace period waited.
const START: Duration = Duration::from_secs(5);
