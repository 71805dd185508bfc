//! Hosts and links to experiment on: network namespaces and veth pairs as guards.
#![forbid(unsafe_code)]
