//! `run`: a program, a capture, and the environment of the run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::scenario::ScenarioArgs;
use super::value::ValueError;

/// Runtime of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuntimeArg {
    /// The engine in user space: no root, any machine, reproducible
    Vm,
    /// This machine's kernel, by test runs; requires root
    Kernel,
}

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Object file such as prog.o, or name of a built-in program (drop, forward)
    #[arg(required_unless_present = "cover")]
    pub object: Option<String>,

    /// Capture file, pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub input: PathBuf,

    #[command(flatten)]
    pub scenario: ScenarioArgs,

    /// Write a capture for each verdict and for each destination of packets to a directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Runtime that runs the program
    #[arg(long, value_enum, default_value_t = RuntimeArg::Vm)]
    pub runtime: RuntimeArg,

    /// Write the environment of the run to a scenario file, to reproduce it elsewhere
    #[arg(long, value_name = "FILE")]
    pub save_world: Option<PathBuf>,

    /// Rounds that measure the rate; verdicts and maps are those of one pass
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repeat: u32,

    /// Run kernel and engine side by side, and stop at the first difference
    #[arg(long, conflicts_with_all = ["runtime", "out", "explain", "trace", "cover"])]
    pub diff: bool,

    /// Do not list or compare this map (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub ignore_map: Vec<String>,

    /// Explain packet N, counted from 1: source lines, calls, bytes changed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["out", "trace", "cover"])]
    pub explain: Option<u64>,

    /// Print every instruction of every packet
    #[arg(long, conflicts_with_all = ["out", "cover"])]
    pub trace: bool,

    /// Show how often each source line ran; with a file, write it in lcov format
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub cover: Option<Option<PathBuf>>,
}

impl RunArgs {
    /// These arguments with an object. The name after `--cover` is that of the object if there is
    /// no other, because the file is optional.
    ///
    /// # Errors
    /// There is no object.
    pub fn with_object(mut self) -> Result<Self, ValueError> {
        if self.object.is_none() {
            let file = self.cover.as_mut().and_then(Option::take);
            self.object = file.map(|path| path.to_string_lossy().into_owned());
        }
        match self.object {
            Some(_) => Ok(self),
            None => Err(ValueError::Expected("an object file, such as prog.o")),
        }
    }
}
