//! `prog` and `map`: references to objects of the kernel.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use control::assignment::Assignment;

use super::value::{ValueError, assignment, duration};

/// A reference to a program or map: an id (`17`), a name (`xdp_drop`), or a pin (contains a `/`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    Id(u32),
    Name(String),
    Pin(PathBuf),
}

impl FromStr for Ref {
    type Err = ValueError;

    fn from_str(word: &str) -> Result<Self, ValueError> {
        if word.is_empty() {
            return Err(ValueError::Expected("an id, a name or the path of a pin"));
        }
        if word.contains('/') {
            return Ok(Self::Pin(PathBuf::from(word)));
        }
        Ok(word.parse().map_or_else(|_| Self::Name(word.to_owned()), Self::Id))
    }
}

/// Sizes and configuration options that an object does not determine.
#[derive(Clone, Debug, Default, Args)]
pub struct ObjectArgs {
    /// Set the number of entries of a map, or the bytes of a ring buffer, such as flows=1024 (may
    /// be repeated)
    #[arg(long = "map-size", value_name = "NAME=N", value_parser = map_size)]
    pub map_sizes: Vec<(String, u32)>,

    /// Value of a kernel configuration option that the object reads, such as CONFIG_HZ=250 (may
    /// be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub kconfig: Vec<(String, String)>,
}

fn map_size(text: &str) -> Result<(String, u32), ValueError> {
    let (name, size) = assignment(text)?;
    match size.parse() {
        Ok(size) if size > 0 => Ok((name, size)),
        _ => Err(ValueError::range(&(1..=u32::MAX), " after the name")),
    }
}

#[derive(Debug, Subcommand)]
pub enum ProgAction {
    /// List all programs in the kernel
    List,
    /// Show all that the kernel reports about one program
    Show {
        /// Id, name, or path of a pin
        program: Ref,
    },
    /// Print the program's instructions with source lines
    Dump(Dump),
    /// Count how often each instruction of an interface's programs runs
    ///
    /// The programs are replaced in one step by others that count and decide as they do, and run
    /// again at the end.
    Hits {
        /// Network interface
        iface: String,
        /// End after this time (default: at Ctrl-C)
        #[arg(long, value_name = "TIME", value_parser = duration)]
        time: Option<Duration>,
    },
    /// Show which programs use which maps, call each other, and run where
    Graph {
        /// Only what is connected with this program: id, name, or path of a pin
        program: Option<Ref>,
        /// Print the graph in the language of Graphviz, for `dot -Tsvg`
        #[arg(long, conflicts_with = "json")]
        dot: bool,
    },
}

#[derive(Debug, Args)]
pub struct Dump {
    /// Id, name, or path of a pin
    pub program: Ref,

    /// Print the JIT's machine code instead of translated BPF instructions
    #[arg(long)]
    pub jited: bool,
}

#[derive(Debug, Subcommand)]
pub enum MapAction {
    /// List all maps in the kernel
    List,
    /// Show all that the kernel reports about one map
    Show {
        /// Id, name, or path of a pin
        map: Ref,
    },
    /// Print all entries, formatted by their types if the map has BTF
    Dump {
        /// Id, name, or path of a pin
        map: Ref,
    },
    /// Print one entry
    Lookup {
        /// Id, name, or path of a pin
        map: Ref,
        /// Key: a number, an IP or MAC address, or hex:0a0b
        key: String,
    },
    /// Set the value of one entry
    Update {
        /// Id, name, or path of a pin
        map: Ref,
        /// Key: a number, an IP or MAC address, or hex:0a0b
        key: String,
        /// Value, in the same notation as a key
        value: String,
        /// Fail if the key exists
        #[arg(long, conflicts_with = "exist")]
        noexist: bool,
        /// Fail if the key does not exist
        #[arg(long)]
        exist: bool,
    },
    /// Set entries, or fields of them, by the types of the map
    ///
    /// Several fields of one entry are set in one update. What a program changes in the entry
    /// between reading and writing it is lost.
    Set {
        /// Id, name, or path of a pin
        map: Ref,
        /// KEY[.FIELD]=VALUE: a key, a field such as .port or [2], and a value; such as 7.port=53
        /// or 10.0.0.1='{port: 53, state: BUSY}'
        #[arg(required = true, value_name = "KEY=VALUE")]
        assignments: Vec<Assignment>,
        /// In a per-CPU map, set the value of this processor only
        #[arg(long, value_name = "N")]
        cpu: Option<u32>,
        /// Fail if the key exists
        #[arg(long, conflicts_with = "exist")]
        noexist: bool,
        /// Fail if the key does not exist
        #[arg(long)]
        exist: bool,
    },
    /// Delete one entry
    Delete {
        /// Id, name, or path of a pin
        map: Ref,
        /// Key: a number, an IP or MAC address, or hex:0a0b
        key: String,
    },
    /// Pin a map in a bpffs
    Pin {
        /// Id, name, or path of a pin
        map: Ref,
        /// Path in a mounted bpffs
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        assert_eq!("17".parse::<Ref>().unwrap(), Ref::Id(17));
        assert_eq!("xdp_drop".parse::<Ref>().unwrap(), Ref::Name("xdp_drop".into()));
        assert_eq!("/run/x".parse::<Ref>().unwrap(), Ref::Pin("/run/x".into()));
        assert!("".parse::<Ref>().is_err());
    }
}
