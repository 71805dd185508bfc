//! Declarations: files that state which program runs on an interface, and with what configuration.
//!
//! ```toml
//! interface = "eth1"          # name, alternative name or MAC address
//! mode = "native"             # native, generic or offload
//!
//! [[program]]
//! filter = "rules/eth1.toml"  # relative to this file
//! ```
//!
//! Rule: parsing touches no interface and needs no rights. [docs/configuration.md] describes the
//! format. Not here: what runs now, and what to change (`apply`).
//!
//! [docs/configuration.md]: ../../../../docs/configuration.md

mod detect;
mod error;
pub(crate) mod table;
mod text_value;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use functions::route;
use kernel::Mode;
use packet::Mac;
use packet::quantity::memory;
use sys::net::Link;

pub use detect::DetectTable;
pub use error::{DeclarationError, Reason};
pub use table::{DropTable, ForwardTable, OnStop, ProgramTable};

use crate::detection::AutoOptions;
use crate::error::{Context as _, Result};
use crate::member::{NAME_LIMIT, default_priority, is_name};
use crate::target::Place;
use crate::text;
use table::DeclarationTable;

/// A file, without errors of syntax.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Path of the file.
    pub path: PathBuf,
    pub interface: Selector,
    pub mode: Mode,
    pub on_stop: OnStop,
    /// Replace a program that another tool attached.
    pub replace: bool,
    /// In the order in which they run; none if no program may run.
    pub programs: Vec<Program>,
}

/// Which interface a declaration is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// A name or an alternative name.
    Name(String),
    Mac(Mac),
}

/// A declared program: its kind, and the table with all options.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub kind: Kind,
    pub table: ProgramTable,
    /// Its place among several programs.
    pub place: Place,
    /// Interfaces beside the declared one that it runs on as well: those of `forward` and, once the
    /// file of services is known to translate addresses, those of `out`.
    pub further: Vec<String>,
}

/// The kind of a declared program.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A filter, with the path of its rules. The daemon detects floods with these options.
    Filter { rules: PathBuf, memory: Option<u64>, detect: Option<Box<AutoOptions>> },
    /// The built-in program `drop`.
    Drop,
    /// The balancer, with the path of its services.
    Balance { services: PathBuf },
    /// The built-in program `forward`.
    Forward(Box<route::Config>),
    /// An object file or a built-in program.
    Object { path: String },
}

/// The declarations of a directory.
#[derive(Debug)]
pub struct Declarations {
    /// Absolute path of the directory.
    pub dir: PathBuf,
    /// One for each file, in the order of names.
    pub files: Vec<Result<Declaration, DeclarationError>>,
}

/// Reads all declarations of a directory: each file `*.toml`. Errors of one file do not affect
/// others.
///
/// # Errors
/// The directory cannot be read.
pub fn read(dir: &Path) -> Result<Declarations> {
    let shown = || format!("cannot read the configuration directory {}", dir.display());
    let absolute = fs::canonicalize(dir).with_context(shown)?;
    let entries = fs::read_dir(&absolute).with_context(shown)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = paths.with_context(shown)?;
    paths.retain(|path| is_declaration(path));
    paths.sort();
    let files = paths.iter().map(|path| Declaration::read(path)).collect();
    Ok(Declarations { dir: absolute, files })
}

/// A file, or its directory, that every user can change could make any of them load programs.
///
/// # Errors
/// It is one.
pub(crate) fn protected(path: &Path) -> Result<(), Reason> {
    for one in [Some(path), path.parent()].into_iter().flatten() {
        // What does not exist, or may not be inspected, is reported when it is read.
        let mode = fs::metadata(one).map_or(0, |found| found.permissions().mode());
        if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
            return Err(Reason::Writable { path: one.to_owned() });
        }
    }
    Ok(())
}

/// A file `*.toml`, except hidden ones, such as those that editors write.
fn is_declaration(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_file() && name.ends_with(".toml") && !name.starts_with('.')
}

impl Declaration {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, DeclarationError> {
        let failed = |reason| DeclarationError { path: path.to_owned(), reason };
        protected(path).map_err(failed)?;
        let text = text::read(path).map_err(|error| failed(Reason::Unreadable(Box::new(error))))?;
        Self::parse(path, &text)
    }

    /// Parses the text of the file at `path`. Paths in it are relative to its directory.
    pub fn parse(path: &Path, text: &str) -> Result<Self, DeclarationError> {
        let failed = |reason| DeclarationError { path: path.to_owned(), reason };
        let table: DeclarationTable =
            toml::from_str(text).map_err(|error| failed(Reason::Syntax(Box::new(error))))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let programs = programs(&table, folder).map_err(failed)?;
        let interface = Selector::parse(&table.interface)
            .ok_or_else(|| failed(Reason::Interface { word: table.interface.clone() }))?;
        Ok(Self {
            path: path.to_owned(),
            interface,
            mode: table.mode.into(),
            on_stop: table.on_stop,
            replace: table.replace,
            programs,
        })
    }
}

/// The programs in the order in which they run.
fn programs(table: &DeclarationTable, folder: &Path) -> Result<Vec<Program>, Reason> {
    let made = table.programs.iter().map(|one| Program::new(one, folder));
    let mut programs = made.collect::<Result<Vec<_>, _>>()?;
    programs.sort_by_key(Program::priority);
    for (number, one) in programs.iter().enumerate() {
        if programs[..number].iter().any(|other| other.name() == one.name()) {
            return Err(Reason::NameTaken { name: one.name().to_owned() });
        }
    }
    match (table.mode.into(), programs.len()) {
        (Mode::Offload, number @ 2..) => Err(Reason::Offload { number }),
        _ => Ok(programs),
    }
}

impl Declaration {
    /// The declared interface, and those that change with it.
    pub fn interfaces(&self, own: &str) -> Vec<String> {
        let mut all = vec![own.to_owned()];
        for name in self.programs.iter().flat_map(|program| program.interfaces(own)) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    /// The error for this file.
    pub(crate) fn error(&self, reason: Reason) -> DeclarationError {
        DeclarationError { path: self.path.clone(), reason }
    }
}

impl Selector {
    /// Parses a MAC address or a name that an interface may have.
    fn parse(word: &str) -> Option<Self> {
        if let Ok(mac) = word.parse() {
            return Some(Self::Mac(mac));
        }
        let is_name = !word.is_empty()
            && word.len() < ALTERNATIVE_NAME
            && !word.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control());
        is_name.then(|| Self::Name(word.to_owned()))
    }

    /// Whether the interface is the selected one.
    pub fn matches(&self, link: &Link) -> bool {
        match self {
            Self::Name(name) => link.name == *name || link.altnames.contains(name),
            // A VLAN, bridge or bond has the address of a lower interface.
            Self::Mac(mac) => link.mac == Some(*mac) && OWN_ADDRESS.contains(&link.kind.as_str()),
        }
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Mac(mac) => write!(f, "{mac}"),
        }
    }
}

impl Program {
    fn new(table: &ProgramTable, folder: &Path) -> Result<Self, Reason> {
        let kind = Kind::new(table, folder)?;
        let allowed = kind.options();
        let given = table.options();
        if let Some(option) = given.into_iter().find(|option| !allowed.contains(option)) {
            return Err(Reason::Option { option, kind: kind.name(), allowed });
        }
        let mut table = table.clone();
        if let Kind::Object { path } = &kind {
            table.object = Some(path.clone());
        }
        let place = place(&table)?;
        let further = table.forward.as_ref().map(|one| one.interfaces.clone()).unwrap_or_default();
        Ok(Self { kind, table, place, further })
    }

    /// Its number in the order in which programs run.
    pub fn priority(&self) -> u32 {
        self.place.priority.unwrap_or_else(|| default_priority(self.name()))
    }

    /// Name of what is attached: that of its generations.
    pub fn name(&self) -> &str {
        if let Some(name) = &self.place.name {
            return name;
        }
        match &self.kind {
            Kind::Object { path } => crate::object::stem(path),
            kind => kind.name(),
        }
    }

    /// All interfaces that the program runs on, the declared one first.
    pub fn interfaces(&self, own: &str) -> Vec<String> {
        let further = self.further.iter().filter(|name| *name != own).cloned();
        std::iter::once(own.to_owned()).chain(further).collect()
    }

    /// Whether it runs on an interface if `own` is the declared one.
    pub fn runs_on(&self, own: &str, interface: &str) -> bool {
        own == interface || self.further.iter().any(|name| name == interface)
    }

    /// Whether it can run on several interfaces, with tables that its programs there share.
    pub fn spans(&self) -> bool {
        matches!(self.kind, Kind::Forward(_)) || !self.further.is_empty()
    }
}

/// The declared place of a program.
fn place(table: &ProgramTable) -> Result<Place, Reason> {
    let (name, priority) = (table.name.clone(), table.priority);
    if let Some(name) = name.clone().filter(|name| !is_name(name)) {
        return Err(Reason::Name { name, limit: NAME_LIMIT });
    }
    let verdicts = |words: &Vec<String>| words.iter().map(|word| word.parse()).collect();
    let continue_on = table.continue_on.as_ref().map(verdicts).transpose()?;
    Ok(Place { name, priority, continue_on, renew: false })
}

impl Kind {
    fn new(table: &ProgramTable, folder: &Path) -> Result<Self, Reason> {
        let mut kinds = Vec::new();
        if let Some(rules) = &table.filter {
            let memory = table
                .memory
                .as_ref()
                .map(|word| memory(word).ok_or_else(|| Reason::Memory { word: word.clone() }));
            let detect = table.detect.as_ref().map(DetectTable::options).transpose()?;
            let (rules, memory) = (folder.join(rules), memory.transpose()?);
            kinds.push(Self::Filter { rules, memory, detect: detect.map(Box::new) });
        }
        if table.drop.is_some() {
            kinds.push(Self::Drop);
        }
        if let Some(services) = &table.balance {
            kinds.push(Self::Balance { services: folder.join(services) });
        }
        if let Some(forward) = &table.forward {
            kinds.push(Self::Forward(Box::new(forward.config())));
        }
        if let Some(object) = &table.object {
            let path = if crate::object::is_built_in(object) {
                object.clone()
            } else {
                folder.join(object).display().to_string()
            };
            kinds.push(Self::Object { path });
        }
        match kinds.len() {
            0 => Err(Reason::NoKind),
            1 => Ok(kinds.remove(0)),
            _ => {
                Err(Reason::SeveralKinds { kinds: kinds.iter().map(|kind| kind.name()).collect() })
            }
        }
    }

    /// The file of rules, of services or of the object.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Filter { rules, .. } => Some(rules),
            Self::Balance { services } => Some(services),
            Self::Object { path } if !crate::object::is_built_in(path) => Some(Path::new(path)),
            _ => None,
        }
    }

    /// The key of the kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Filter { .. } => "filter",
            Self::Drop => "drop",
            Self::Balance { .. } => "balance",
            Self::Forward(_) => "forward",
            Self::Object { .. } => "object",
        }
    }

    /// Keys that are allowed beside the key of the kind.
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Filter { .. } => {
                &["set", "memory", "ignore-stripped-tags", "detect", "priority", "continue-on"]
            }
            Self::Drop => &["set", "priority", "continue-on"],
            Self::Balance { .. } => &["out", "set", "priority", "continue-on"],
            Self::Forward(_) => &["set", "ignore-stripped-tags", "priority", "continue-on"],
            Self::Object { .. } => &[
                "program",
                "type",
                "count",
                "set",
                "map-size",
                "kconfig",
                "name",
                "priority",
                "continue-on",
            ],
        }
    }
}

impl ProgramTable {
    /// The table as it is written in a file.
    pub(crate) fn lines(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Keys of the options that are given.
    fn options(&self) -> Vec<&'static str> {
        let all = [
            ("program", self.program.is_some()),
            ("type", self.kind.is_some()),
            ("count", self.count.is_some()),
            ("out", !self.out.is_empty()),
            ("set", !self.set.is_empty()),
            ("map-size", !self.map_size.is_empty()),
            ("kconfig", !self.kconfig.is_empty()),
            ("memory", self.memory.is_some()),
            ("detect", self.detect.is_some()),
            ("ignore-stripped-tags", self.ignore_stripped_tags),
            ("name", self.name.is_some()),
            ("priority", self.priority.is_some()),
            ("continue-on", self.continue_on.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }
}

/// Permission of all other users to write.
const OTHERS_WRITE: u32 = 0o002;
/// In a directory with this bit, users can only replace files of their own.
const STICKY: u32 = 0o1000;
/// Kinds of interfaces with an address of their own; hardware has none.
const OWN_ADDRESS: [&str; 3] = ["", "veth", "tun"];
/// Bytes of an alternative name, with the final zero (`ALTIFNAMSIZ`).
const ALTERNATIVE_NAME: usize = 128;

#[cfg(test)]
mod tests;
