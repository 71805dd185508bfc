//! Limits for each address: sets that rules write to, and meters.
//!
//! Rule: each address has a bucket of its own, as in nft, and no bucket for the prefixes around it.
//! nft forgets a bucket when its time is over, and makes no new ones when the set is full; here
//! memory is fixed and shared, see `limit`.

use serde_json::Value;

use super::refusal;
use super::subject::{Family, Subject};
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::{Limit, Per, Side};

/// The limit of a statement `add @set { KEY limit … }`, `update …` or `meter …`; what the key asks
/// of a packet is added to the tests.
pub(super) fn limit(kind: &str, body: &Value, tests: &mut Conjunction) -> Result<Limit, String> {
    let refused = || refusal::statement(kind).to_owned();
    let (key, statements) = match kind {
        "meter" => (&body["key"], vec![&body["stmt"]]),
        _ if body["op"] == "delete" => return Err(refused()),
        _ => (&body["elem"], body["stmt"].as_array().into_iter().flatten().collect()),
    };
    // With a time of its own, an element is one more inside.
    let key = if key["elem"].is_object() { &key["elem"]["val"] } else { key };
    let [statement] = &statements[..] else { return Err(refused()) };
    if !statement["limit"].is_object() {
        return Err(refused());
    }
    let limit = super::chain::limit(&statement["limit"])?;
    let (per, ether_type) = match Subject::read(key)? {
        // Any other length than a whole address for the other family, or prefixes had limits too.
        Subject::Address(Side::Source, Family::V4) => (Per::Source { v4: 32, v6: 64 }, IPV4),
        Subject::Address(Side::Source, Family::V6) => (Per::Source { v4: 24, v6: 128 }, IPV6),
        Subject::Address(Side::Dest, Family::V4) => (Per::Dest { v4: 32, v6: 128 }, IPV4),
        Subject::Address(Side::Dest, Family::V6) => (Per::Dest { v4: 32, v6: 128 }, IPV6),
        _ => return Err(refused()),
    };
    tests.require_ether_type(ether_type)?;
    Ok(Limit { per, ..limit })
}
