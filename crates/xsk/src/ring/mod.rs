//! The four rings that a socket shares with the kernel, as guards.
#![allow(unsafe_code)]
