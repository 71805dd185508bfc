//! Helpers that choose the target of a packet; delivery uses it when the program returns redirect.
//!
//! As in the kernel, the last call of a run counts, even if its lookup fails.

use spec::asm::Helper;
use spec::{MapKind, Verdict};

use super::map::{map_at, no_map};
use super::{HelperRow, bad_argument, helper_row};
use crate::fault::Fault;
use crate::maps::Map;
use crate::processor::Processor;
use crate::redirect::{Choice, Redirect};

pub(super) const HELPERS: &[HelperRow] =
    &[helper_row(Helper::REDIRECT, redirect), helper_row(Helper::REDIRECT_MAP, redirect_map)];

fn redirect(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[1] != 0 {
        return Ok(Verdict::Aborted as u64);
    }
    processor.redirect = Redirect::to_interface(args[0] as u32);
    Ok(Verdict::Redirect as u64)
}

fn redirect_map(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_redirect_map";
    let Some(map) = map_at(&processor.maps, args[0]) else { return Err(no_map(NAME)) };
    let Some(allowed) = allowed_flags(map) else {
        return Err(bad_argument(NAME, 1, "not a devmap, cpumap or xskmap"));
    };
    let (key, flags) = (args[1] as u32, args[2]);
    if flags & !(ACTION | allowed) != 0 {
        return Ok(Verdict::Aborted as u64);
    }
    let choice = if flags & BROADCAST != 0 {
        let exclude_ingress = flags & EXCLUDE_INGRESS != 0;
        Some(Choice::Broadcast { map: map.attributes().number, exclude_ingress })
    } else {
        map.target(key).map(Choice::To)
    };
    let Some(choice) = choice else {
        processor.redirect = Redirect::to_interface(processor.redirect.index);
        return Ok(flags & ACTION);
    };
    processor.redirect = Redirect { choice, index: key };
    Ok(Verdict::Redirect as u64)
}

/// The flags of a map type besides the verdict for a failed lookup.
fn allowed_flags(map: &Map) -> Option<u64> {
    match map.attributes().kind {
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => Some(BROADCAST | EXCLUDE_INGRESS),
        MapKind::CPUMAP | MapKind::XSKMAP => Some(0),
        _ => None,
    }
}

/// Mask of the verdict for a failed lookup.
const ACTION: u64 = 3;
/// `BPF_F_BROADCAST`.
const BROADCAST: u64 = 1 << 3;
/// `BPF_F_EXCLUDE_INGRESS`.
const EXCLUDE_INGRESS: u64 = 1 << 4;
