//! Limits per address: sets that rules write to, and meters.
//!
//! Rule: each address has its own bucket, as in nft, and prefixes have none. nft removes a bucket
//! when it times out and adds none when the set is full; here the memory is fixed and shared
//! (`bpf/filter/limit.h`).

use serde_json::Value;

use super::subject::{Family, Subject};
use super::{limit, unsupported};
use crate::import_export::conjunction::{IPV4, IPV6};
use crate::import_export::error::nft::ImportError;
use crate::{Limit, Per, Side};

/// The limit of a statement `add @set { KEY limit … }`, `update …` or `meter …`, and the EtherType
/// that the key implies.
pub(super) fn limit(kind: &str, body: &Value) -> Result<(Limit, u16), ImportError> {
    let refused = || unsupported::statement(kind);
    let (key, statements) = match kind {
        "meter" => (&body["key"], vec![&body["stmt"]]),
        _ if body["op"] == "delete" => return Err(refused()),
        _ => (&body["elem"], body["stmt"].as_array().into_iter().flatten().collect()),
    };
    // An element with a timeout is nested one level deeper.
    let key = if key["elem"].is_object() { &key["elem"]["val"] } else { key };
    let [statement] = &statements[..] else { return Err(refused()) };
    if !statement["limit"].is_object() {
        return Err(refused());
    }
    if statement["limit"]["inv"] != true {
        return Err(ImportError::LimitBelow);
    }
    let limit = limit::read(&statement["limit"])?;
    let (per, ether_type) = match Subject::read(key)? {
        // The length for the other family differs from a whole address: otherwise prefixes would
        // have limits too.
        Subject::Address(Side::Source, Family::V4) => (Per::Source { v4: 32, v6: 64 }, IPV4),
        Subject::Address(Side::Source, Family::V6) => (Per::Source { v4: 24, v6: 128 }, IPV6),
        Subject::Address(Side::Dest, Family::V4) => (Per::Dest { v4: 32, v6: 128 }, IPV4),
        Subject::Address(Side::Dest, Family::V6) => (Per::Dest { v4: 32, v6: 128 }, IPV6),
        _ => return Err(refused()),
    };
    Ok((Limit { per, ..limit }, ether_type))
}
