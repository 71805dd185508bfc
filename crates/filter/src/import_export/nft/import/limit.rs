//! The statement `limit rate …`.

use serde_json::Value;

use crate::import_export::error::nft::ImportError;
use crate::{Limit, Per, Unit};

/// The limit of a statement `limit rate …`.
pub(super) fn read(body: &Value) -> Result<Limit, ImportError> {
    if body.get("rate_unit").is_some() {
        return Err(ImportError::ByteLimit);
    }
    let number = |key: &str| body[key].as_u64();
    let rate = number("rate").ok_or(ImportError::NoRate)?;
    let seconds = match body["per"].as_str() {
        Some("second") | None => 1,
        Some("minute") => 60,
        Some("hour") => 3600,
        Some("day") => 86400,
        Some(unit) => return Err(ImportError::UnknownPeriod(unit.to_owned())),
    };
    if rate == 0 || rate % seconds != 0 {
        return Err(ImportError::FractionalRate);
    }
    // linux: net/netfilter/nft_limit.c, NFT_LIMIT_PKT_BURST_DEFAULT
    let burst = number("burst").filter(|burst| *burst > 0).unwrap_or(5);
    Ok(Limit { rate: rate / seconds, unit: Unit::Packets, burst, per: Per::Rule, total: None })
}
