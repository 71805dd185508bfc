//! `xway extcap`: options that Wireshark passes.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::capture::SelectionArgs;

/// `xway extcap`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("action").required(true).multiple(true))]
pub struct ExtcapArgs {
    /// List the interfaces
    #[arg(long, group = "action")]
    pub extcap_interfaces: bool,

    /// List the link types of the interface
    #[arg(long, group = "action", requires = "extcap_interface")]
    pub extcap_dlts: bool,

    /// List the options of the interface
    #[arg(long, group = "action", requires = "extcap_interface")]
    pub extcap_config: bool,

    /// Capture until Wireshark ends it
    #[arg(long, group = "action", requires_all = ["extcap_interface", "fifo"])]
    pub capture: bool,

    /// Expression of tcpdump; without --capture it is only checked
    #[arg(long, group = "action", value_name = "EXPR")]
    pub extcap_capture_filter: Option<String>,

    /// Version of Wireshark
    #[arg(long, value_name = "VERSION")]
    pub extcap_version: Option<String>,

    /// Interface, by its name in the list
    #[arg(long, value_name = "NAME")]
    pub extcap_interface: Option<String>,

    /// Named pipe that receives the packets
    #[arg(long, value_name = "FILE")]
    pub fifo: Option<PathBuf>,

    #[command(flatten)]
    pub selection: SelectionArgs,
}
