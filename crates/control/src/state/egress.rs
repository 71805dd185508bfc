//! Links of members at the hook for sent packets: pinned beside their generations.
//!
//! Rule: such a link is removed, and the program with it, as soon as no generation of its member
//! remains. So it ends with the member, and with the next change if a process was killed meanwhile.

use std::fs;
use std::path::PathBuf;

use kernel::Link;

use super::{Slot, if_pinned, remove};
use crate::error::Result;

impl Slot {
    /// The link of a member; `None` if it has none.
    pub fn egress(&self, member: &str) -> Result<Option<Link>> {
        if_pinned(Link::from_pin(&self.egress_path(member)))
    }

    /// Keeps the link of a member until the member ends.
    pub fn keep_egress(&self, member: &str, mut link: Link) -> Result<()> {
        self.end_egress(member)?;
        link.pin(&self.egress_path(member))?;
        Ok(link.keep()?)
    }

    /// Detaches the program of a member's link.
    pub fn end_egress(&self, member: &str) -> Result<()> {
        remove(&self.egress_path(member), |path| fs::remove_file(path))
    }

    /// Removes the links of members that have no generation.
    pub(super) fn sweep_egress(&self, members: &[String]) -> Result<()> {
        for entry in fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let member = name.strip_prefix(EGRESS);
            if member.is_some_and(|member| !members.iter().any(|one| one == member)) {
                remove(&entry.path(), |path| fs::remove_file(path))?;
            }
        }
        Ok(())
    }

    fn egress_path(&self, member: &str) -> PathBuf {
        self.folder().join(format!("{EGRESS}{member}"))
    }
}

const EGRESS: &str = "egress-";
