//! `Holders`: processes, links and pins that keep a program of another owner attached.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernel::list::{self, Owners, Pins};
use kernel::{LinkInfo, LinkTarget};
use sys::errno::EPERM;
use sys::net::Ifindex;

use crate::error::Result;

/// Links, pins and processes that hold programs.
#[derive(Debug, Default)]
pub struct Holders {
    owners: Owners,
    pins: Pins,
    /// Empty where this process may not list them.
    links: Vec<LinkInfo>,
    /// The programs for which they were read, and when.
    read: Option<(Instant, BTreeSet<u32>)>,
}

impl Holders {
    /// Reads them again for other programs, and after some time. Finding the processes means
    /// reading the descriptors of every process.
    pub fn update(&mut self, programs: BTreeSet<u32>, fresh: Duration) -> Result<()> {
        let is_known = |(at, known): &(Instant, _)| at.elapsed() < fresh && *known == programs;
        if self.read.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        *self = Self::default();
        if !programs.is_empty() {
            self.links = match list::links() {
                Err(error) if error.errno() == Some(EPERM) => Vec::new(),
                links => links?,
            };
            self.owners = Owners::now();
            self.pins = Pins::now();
        }
        self.read = Some((Instant::now(), programs));
        Ok(())
    }

    /// Id of the link that attaches a program to an interface.
    pub fn link(&self, ifindex: Ifindex, program: u32) -> Option<u32> {
        let target = LinkTarget::Xdp { ifindex: ifindex.0 };
        let is_it = |one: &&LinkInfo| one.target == target && one.prog_id == program;
        self.links.iter().find(is_it).map(|one| one.id)
    }

    /// Where a program and its link are pinned.
    pub fn pins(&self, program: u32, link: Option<u32>) -> Vec<PathBuf> {
        let of_link = link.map(|id| self.pins.of_link(id)).unwrap_or_default();
        self.pins.of_program(program).iter().chain(of_link).cloned().collect()
    }

    /// The processes that hold a program or its link.
    pub fn owner(&self, program: u32, link: Option<u32>) -> String {
        let of_link = link.map(|id| self.owners.of_link(id)).unwrap_or_default();
        let mut names: Vec<_> = of_link
            .iter()
            .chain(self.owners.of_program(program))
            .filter(|owner| owner.pid != std::process::id())
            .map(ToString::to_string)
            .collect();
        names.sort();
        names.dedup();
        match (names.is_empty(), link) {
            (false, _) => names.join(", "),
            (true, Some(_)) => "a pin".to_owned(),
            (true, None) => "netlink".to_owned(),
        }
    }
}
