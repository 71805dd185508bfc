//! `daemon`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct DaemonArgs {
    /// Directory of declarations to apply when interfaces appear
    #[arg(default_value = "/etc/xway", value_name = "DIR", conflicts_with = "no_apply")]
    pub dir: PathBuf,

    /// Export metrics only, without applying declarations
    #[arg(long)]
    pub no_apply: bool,

    /// Address and port at which metrics are served
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10077")]
    pub listen: SocketAddr,

    /// Serve no metrics
    #[arg(long, conflicts_with_all = ["listen", "no_apply"])]
    pub no_metrics: bool,
}
