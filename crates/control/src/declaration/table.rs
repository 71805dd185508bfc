//! The tables of a declaration file, as they are written.
//!
//! Rule: unknown keys are errors, and every table can be written again (`save`, records).

use std::collections::BTreeMap;

use functions::PassOrDrop;
use functions::drop::Rule;
use functions::route::{Config, IcmpErrors, Nat, ReversePath, Translation};
use serde::{Deserialize, Serialize};

use super::detect::DetectTable;
use super::text_value::Text;

/// A file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DeclarationTable {
    pub interface: String,
    #[serde(default)]
    pub mode: ModeName,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_stop: OnStop,
    #[serde(default, skip_serializing_if = "is_default")]
    pub replace: bool,
    #[serde(default, rename = "program", skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramTable>,
}

/// Where in the receive path the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeName {
    #[default]
    Native,
    Generic,
    Offload,
}

/// What happens to the program when the service is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnStop {
    /// It continues to run.
    #[default]
    Leave,
    /// It is detached.
    Detach,
}

/// A program: one of `filter`, `drop`, `balance`, `forward` and `object`, with its options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ProgramTable {
    /// File of rules, relative to the declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<DropTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward: Option<ForwardTable>,
    /// File of services, relative to the declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Further interfaces that packets of the balancer may leave by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub out: Vec<String>,
    /// Object file, relative to the declaration, or name of a built-in program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Program of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Program type, if the section name does not contain it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Count the verdicts of an object that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<bool>,
    /// Global variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Text>,
    /// Sizes of maps of the object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub map_size: BTreeMap<String, u32>,
    /// Kernel configuration options that the object reads.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kconfig: BTreeMap<String, Text>,
    /// Most memory that maps of the rules may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_stripped_tags: bool,
    /// The daemon detects floods, and loads temporary rules against them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect: Option<DetectTable>,
    /// Name of the member of a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members of a chain run in ascending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Names of the verdicts after which the next member runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on: Option<Vec<String>>,
}

/// The options of `drop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropTable {
    pub rules: Vec<Rule>,
}

/// The options of `forward`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardTable {
    /// Further interfaces to forward between.
    pub interfaces: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub nat: Nat,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub translations: Vec<Translation>,
    #[serde(skip_serializing_if = "is_true")]
    pub replies: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub malformed: PassOrDrop,
    /// Routes that each processor remembers.
    #[serde(skip_serializing_if = "is_usual_memory")]
    pub memory: u32,
    /// ICMP errors that the program sends itself.
    #[serde(skip_serializing_if = "is_default")]
    pub icmp_errors: IcmpErrors,
    /// What the route to the source of a packet must be.
    #[serde(skip_serializing_if = "is_default")]
    pub reverse_path: ReversePath,
    /// Packets with IPv4 options or IPv6 extension headers.
    #[serde(skip_serializing_if = "is_default")]
    pub options: PassOrDrop,
    /// Translate established connections as the kernel's connection tracking records them.
    #[serde(skip_serializing_if = "is_default")]
    pub conntrack: bool,
    /// Start although the stack's firewall has rules for forwarded packets.
    #[serde(rename = "past-firewall", skip_serializing_if = "is_default")]
    pub past_firewall: bool,
}

impl Default for ForwardTable {
    fn default() -> Self {
        Self::new(&Config::default(), Vec::new())
    }
}

impl ForwardTable {
    pub fn new(config: &Config, interfaces: Vec<String>) -> Self {
        Self {
            interfaces,
            nat: config.nat,
            translations: config.translations.clone(),
            replies: config.replies,
            malformed: config.malformed,
            memory: config.memory,
            icmp_errors: config.icmp_errors,
            reverse_path: config.reverse_path,
            options: config.options,
            conntrack: config.conntrack,
            past_firewall: config.past_firewall,
        }
    }

    /// The configuration without the interfaces.
    pub fn config(&self) -> Config {
        let Self { nat, replies, malformed, memory, icmp_errors, reverse_path, .. } = *self;
        let Self { options, conntrack, past_firewall, .. } = *self;
        Config {
            nat,
            translations: self.translations.clone(),
            replies,
            malformed,
            memory,
            icmp_errors,
            reverse_path,
            options,
            conntrack,
            past_firewall,
        }
    }
}

/// Pairs of names and texts.
pub fn pairs(table: &BTreeMap<String, Text>) -> Vec<(String, String)> {
    table.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect()
}

/// The table of pairs; the last value of a name counts.
pub fn table_of(pairs: &[(String, String)]) -> BTreeMap<String, Text> {
    pairs.iter().map(|(name, value)| (name.clone(), Text(value.clone()))).collect()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_true(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_usual_memory(value: &u32) -> bool {
    *value == Config::default().memory
}

impl From<ModeName> for kernel::Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Native => Self::Native,
            ModeName::Generic => Self::Generic,
            ModeName::Offload => Self::Offload,
        }
    }
}

impl From<kernel::Mode> for ModeName {
    fn from(mode: kernel::Mode) -> Self {
        match mode {
            kernel::Mode::Native => Self::Native,
            kernel::Mode::Generic => Self::Generic,
            kernel::Mode::Offload => Self::Offload,
        }
    }
}
