//! The command line of a peer; see `USAGE`.

use std::time::Duration;

/// One run.
#[derive(Clone, Debug)]
pub struct Options {
    pub role: Role,
    /// The interface under test.
    pub device: String,
    /// Where a bridge sends to.
    pub out_device: String,
    pub queue: u32,
    /// The map that a program on the interface redirects by: its id.
    pub map: Option<u32>,
    /// The map of the output device.
    pub out_map: Option<u32>,
    /// How long, from the first frame on.
    pub window: Duration,
    /// Bytes of a frame.
    pub size: usize,
    /// Frames at a time.
    pub batch: usize,
    pub wait: Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Tx,
    Rx,
    Echo,
    Forward,
    /// Sends one frame, waits for it to come back, and so on.
    Rtt,
}

/// What is done when nothing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Sleep in poll(2).
    Poll,
    /// Look again.
    Spin,
}

const USAGE: &str =
    "usage: ROLE --dev IF [--out-dev IF] [--queue N] [--map-id ID] [--out-map-id ID]
  [--seconds S] [--size BYTES] [--batch N] [--wait poll|spin]
ROLE is tx, rx, echo, forward or rtt; a map is an XSKMAP, in which the socket is put at its queue";

impl Options {
    /// Reads the options of this process.
    pub fn read() -> Result<Self, String> {
        Self::parse(std::env::args().skip(1)).map_err(|why| format!("{why}\n{USAGE}"))
    }

    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let role = match words.next().as_deref() {
            Some("tx") => Role::Tx,
            Some("rx") => Role::Rx,
            Some("echo") => Role::Echo,
            Some("forward") => Role::Forward,
            Some("rtt") => Role::Rtt,
            _ => return Err("the first word is the role".into()),
        };
        let mut options = Self::new(role);
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} has no value"))?;
            options.set(&name, &value).ok_or_else(|| format!("{name} {value}?"))?;
        }
        Ok(options)
    }

    fn new(role: Role) -> Self {
        Self {
            role,
            device: String::new(),
            out_device: String::new(),
            queue: 0,
            map: None,
            out_map: None,
            window: Duration::from_secs(1),
            size: 60,
            batch: 64,
            wait: Wait::Poll,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "--dev" => self.device = value.into(),
            "--out-dev" => self.out_device = value.into(),
            "--queue" => self.queue = value.parse().ok()?,
            "--map-id" => self.map = Some(value.parse().ok()?),
            "--out-map-id" => self.out_map = Some(value.parse().ok()?),
            "--seconds" => self.window = Duration::try_from_secs_f64(value.parse().ok()?).ok()?,
            "--size" => self.size = value.parse().ok().filter(|size| (60..=1514).contains(size))?,
            "--batch" => self.batch = value.parse().ok().filter(|n| (1..=1024).contains(n))?,
            "--wait" if value == "poll" => self.wait = Wait::Poll,
            "--wait" if value == "spin" => self.wait = Wait::Spin,
            _ => return None,
        }
        Some(())
    }

    /// These options for the other interface of a bridge.
    pub fn out(&self) -> Self {
        Self { device: self.out_device.clone(), map: self.out_map, ..self.clone() }
    }
}
