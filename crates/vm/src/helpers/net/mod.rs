//! Helpers that look up the environment: routes, MTUs, sockets, SYN cookies, connections, and
//! metadata from the hardware.
//!
//! The checks, their order and the error numbers are those of Linux 6.18 (`net/core/filter.c`,
//! `net/netfilter/nf_conntrack_bpf.c`).

mod conntrack;
mod fib;
mod metadata;
mod mtu;
mod socket;
mod syncookie;

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, bad_argument, helper_row, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::memory::RegionId;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::FIB_LOOKUP, fib::lookup),
    helper_row(Helper::CHECK_MTU, mtu::check),
    helper_row(Helper::SK_LOOKUP_TCP, socket::sk_lookup_tcp),
    helper_row(Helper::SK_LOOKUP_UDP, socket::sk_lookup_udp),
    helper_row(Helper::SKC_LOOKUP_TCP, socket::skc_lookup_tcp),
    helper_row(Helper::SK_RELEASE, socket::release),
    helper_row(Helper::SKC_TO_TCP6_SOCK, socket::to_tcp6),
    helper_row(Helper::SKC_TO_TCP_SOCK, socket::to_tcp),
    helper_row(Helper::SKC_TO_TCP_TIMEWAIT_SOCK, socket::to_timewait),
    helper_row(Helper::SKC_TO_TCP_REQUEST_SOCK, socket::to_request),
    helper_row(Helper::SKC_TO_UDP6_SOCK, socket::to_udp6),
    helper_row(Helper::SKC_TO_UNIX_SOCK, socket::to_unix),
    helper_row(Helper::SKC_TO_MPTCP_SOCK, socket::to_mptcp),
    helper_row(Helper::TCP_CHECK_SYNCOOKIE, syncookie::check),
    helper_row(Helper::TCP_GEN_SYNCOOKIE, syncookie::make),
    helper_row(Helper::TCP_RAW_GEN_SYNCOOKIE_IPV4, syncookie::make_ipv4),
    helper_row(Helper::TCP_RAW_GEN_SYNCOOKIE_IPV6, syncookie::make_ipv6),
    helper_row(Helper::TCP_RAW_CHECK_SYNCOOKIE_IPV4, syncookie::check_ipv4),
    helper_row(Helper::TCP_RAW_CHECK_SYNCOOKIE_IPV6, syncookie::check_ipv6),
];

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_xdp_ct_lookup", conntrack::lookup),
    kfunc_row("bpf_xdp_ct_alloc", conntrack::allocate),
    kfunc_row("bpf_ct_insert_entry", conntrack::insert),
    kfunc_row("bpf_ct_release", conntrack::release),
    kfunc_row("bpf_ct_set_timeout", conntrack::set_timeout),
    kfunc_row("bpf_ct_change_timeout", conntrack::change_timeout),
    kfunc_row("bpf_ct_set_status", conntrack::set_status),
    kfunc_row("bpf_ct_change_status", conntrack::change_status),
    kfunc_row("bpf_ct_set_nat_info", conntrack::set_nat),
    kfunc_row("bpf_xdp_metadata_rx_hash", metadata::hash),
    kfunc_row("bpf_xdp_metadata_rx_timestamp", metadata::timestamp),
    kfunc_row("bpf_xdp_metadata_rx_vlan_tag", metadata::vlan_tag),
];

/// The first argument of most is the context.
fn context(function: &str, argument: u64) -> Result<(), Box<Fault>> {
    if argument == RegionId::CONTEXT.at(0) {
        Ok(())
    } else {
        Err(bad_argument(function, 1, "not the context"))
    }
}

/// Reads `N` bytes at an argument's address.
fn read<const N: usize>(
    processor: &Processor,
    function: &str,
    argument: u8,
    address: u64,
) -> Result<[u8; N], Box<Fault>> {
    let mut bytes = [0; N];
    match processor.memory.read(address, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(refused) => Err(processor.bad_memory(function, argument, (address, N, false))(refused)),
    }
}

/// Writes bytes to an argument's address.
fn write(
    processor: &mut Processor,
    function: &str,
    argument: u8,
    (address, bytes): (u64, &[u8]),
) -> Result<(), Box<Fault>> {
    match processor.memory.write(address, bytes) {
        Ok(()) => Ok(()),
        Err(refused) => {
            let len = bytes.len();
            Err(processor.bad_memory(function, argument, (address, len, true))(refused))
        }
    }
}

/// Value of r0 for a call that can fail.
fn in_r0(result: Result<u64, Errno>) -> u64 {
    result.unwrap_or_else(Errno::in_r0)
}
