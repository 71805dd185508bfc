//! What translations of the kernel's connection tracking need: its settings in this namespace, and
//! that all connections are in one zone.
//!
//! Rule: settings are read, not changed.

use functions::route::{self, Config, Nat};
use spec::Spec;

use crate::error::{FunctionError, Result};

/// Whether the namespace is prepared.
///
/// # Errors
/// The kernel does not track connections, checks TCP windows or has rules that set zones, or the
/// configuration has translations of its own.
pub fn check(config: &Config) -> Result<()> {
    if !config.conntrack {
        return Ok(());
    }
    if !config.translations.is_empty() || config.nat == Nat::Required {
        return Err(FunctionError::TwoTranslations.into());
    }
    let liberal = sys::proc::setting(LIBERAL).map_err(FunctionError::NoConntrack)?;
    if liberal == "0" {
        return Err(FunctionError::TcpWindows.into());
    }
    // Packets of two zones may have the same addresses, and XDP sees no difference.
    let places = sys::net::zone_rules()?;
    if places.is_empty() { Ok(()) } else { Err(FunctionError::Zones { places }.into()) }
}

/// Sets the timeouts that the program keeps entries alive by, as they are now.
///
/// # Errors
/// The kernel does not track connections, or the object is not that of `route`.
pub fn apply(config: &Config, spec: &mut Spec) -> Result<()> {
    if !config.conntrack {
        return Ok(());
    }
    for (global, setting) in [(route::TCP_TIMEOUT, TCP), (route::UDP_TIMEOUT, UDP)] {
        let text = sys::proc::setting(setting).map_err(FunctionError::NoConntrack)?;
        let Ok(seconds) = text.parse::<u32>() else { continue };
        spec.set_global(global, &seconds.saturating_mul(1000).to_le_bytes())?;
    }
    Ok(())
}

const LIBERAL: &str = "net/netfilter/nf_conntrack_tcp_be_liberal";
const TCP: &str = "net/netfilter/nf_conntrack_tcp_timeout_established";
const UDP: &str = "net/netfilter/nf_conntrack_udp_timeout_stream";
