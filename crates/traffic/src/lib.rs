//! The crate `xway-traffic`, used as `traffic`: generates packets with XDP live frames, and
//! verifies what arrives.
//!
//! A [`stream`] description becomes [`Template`]s: bytes, and the fields in them that vary. A
//! [`generator`] runs programs made from templates on the processors of its configuration, at a
//! [`rate`]. A [`sink`] counts what arrives, packet by packet, by the [`Stamp`] at the end of each
//! frame. [`replay`] sends captures, [`tcp`] real connections, and [`ndr`] searches for the highest
//! rate that a device under test forwards without loss. A [`scan`] probes each target once.
//!
//! Invariants: frames are sent only through the interface that the caller names, and every load is
//! bounded by a count or a duration. Threads are started only by an explicit `start`, and end with
//! its guard. Threads inherit the network namespace of the caller; nothing is printed.
//!
//! ```no_run
//! use traffic::generator::{Config, Generator, Load};
//! use traffic::stream::{Quick, QuickProtocol, Value};
//!
//! // A million UDP packets of 60 bytes at a thousand per second.
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut stream = Quick {
//!     src: Some(Value::from("10.0.0.1")),
//!     dst: Some(Value::from("10.0.0.2")),
//!     dport: Some(Value::from(9)),
//!     stamp: true,
//!     ..Quick::new(QuickProtocol::Udp)
//! }
//! .stream();
//! stream.address("02:00:00:00:00:01".parse()?, Some("02:00:00:00:00:02".parse()?));
//! let load = Load::Streams(vec![stream.template(0, 1500)?]);
//! let config = Config {
//!     profile: "1kpps".parse()?,
//!     count: Some(1_000_000),
//!     ..Config::new("eth0", load)
//! };
//! let report = Generator::start(config)?.wait()?;
//! println!("{} sent, {} not sent", report.totals.sent, report.totals.not_sent);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! The crate has no cargo features.
//!
//! # Requirements
//!
//! The generator requires Linux 5.18, and `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`.
//!
//! # Guide
//!
//! `docs/gen.md` explains generator and sink, `docs/streams.md` the format of streams. Examples are
//! `examples/06-generate.rs` and `examples/07-judge.rs`.
#![forbid(unsafe_code)]

mod error;
pub mod generator;
pub mod histogram;
pub mod limits;
mod maps;
pub mod ndr;
pub mod program;
pub mod rate;
pub mod replay;
pub mod scan;
pub mod sink;
mod stamp;
pub mod stream;
pub mod tcp;
pub mod template;
mod transmit;

pub use error::{ConfigError, Error, InterfaceReason, Result, ScanError};
pub use histogram::{Histogram, Quantiles};
pub use rate::{Profile, Rate};
pub use stamp::{Expect, Kind, Stamp};
pub use template::Template;
