//! Which processes hold which program, map or link.

use std::collections::HashMap;

use sys::bpf::Kind;
use sys::proc::holders;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Name of the command, at most 15 bytes.
    pub command: String,
}

/// All holders at one moment, as far as this process may look.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    by_object: HashMap<(Kind, u32), Vec<Owner>>,
}

impl Owners {
    /// Reads the descriptors of all processes that this one may inspect.
    pub fn now() -> Self {
        let mut by_object: HashMap<_, Vec<Owner>> = HashMap::new();
        for holder in holders() {
            let owner = Owner { pid: holder.pid, command: holder.command };
            by_object.entry((holder.kind, holder.id)).or_default().push(owner);
        }
        Self { by_object }
    }

    /// Processes that hold a program.
    pub fn of_program(&self, id: u32) -> &[Owner] {
        self.of(Kind::Prog, id)
    }

    /// Processes that hold a map.
    pub fn of_map(&self, id: u32) -> &[Owner] {
        self.of(Kind::Map, id)
    }

    /// Processes that hold a link.
    pub fn of_link(&self, id: u32) -> &[Owner] {
        self.of(Kind::Link, id)
    }

    fn of(&self, kind: Kind, id: u32) -> &[Owner] {
        self.by_object.get(&(kind, id)).map(Vec::as_slice).unwrap_or_default()
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.command, self.pid)
    }
}

/// Other processes that hold a program or its link, for a message.
pub(crate) fn holders_of(program: u32, link: Option<u32>) -> Vec<String> {
    let owners = Owners::now();
    let own = std::process::id();
    let of_link = link.map(|link| owners.of_link(link)).unwrap_or_default();
    let mut names: Vec<_> = owners
        .of_program(program)
        .iter()
        .chain(of_link)
        .filter(|owner| owner.pid != own)
        .map(ToString::to_string)
        .collect();
    names.sort();
    names.dedup();
    names
}
