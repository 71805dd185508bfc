//! `debug`: a session of the debugger.

use std::path::PathBuf;

use clap::Args;

use super::scenario::ScenarioArgs;

#[derive(Clone, Debug, Args)]
#[command(after_help = "`help` in a session lists its commands; docs/debug.md describes them.")]
pub struct DebugArgs {
    /// Object file such as prog.o, or name of a built-in program (drop, forward)
    #[arg(required_unless_present = "dap")]
    pub object: Option<String>,

    /// Capture file, pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE", required_unless_present = "dap")]
    pub input: Option<PathBuf>,

    /// Begin at packet N, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub packet: Option<u64>,

    /// Directory with the source files, under the paths that the compiler recorded
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,

    /// Run the commands of a file before others; an error ends the session
    #[arg(short = 'x', long, value_name = "FILE", conflicts_with = "dap")]
    pub script: Option<PathBuf>,

    /// Run a command after the script, such as 'break count' (may be repeated)
    #[arg(long = "command", value_name = "COMMAND", conflicts_with = "dap")]
    pub commands: Vec<String>,

    /// Read commands by lines on a terminal, too, instead of showing panes on the whole screen
    #[arg(long, conflicts_with = "dap")]
    pub console: bool,

    /// Speak the Debug Adapter Protocol on standard input and output, for an editor; its launch
    /// request has the other options as keys
    #[arg(long)]
    pub dap: bool,

    #[command(flatten)]
    pub scenario: ScenarioArgs,
}
