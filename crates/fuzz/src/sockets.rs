//! AF_XDP rings: what a program and a kernel, behaving or hostile, do with each other.

/// No panic, no frame twice, none lost, whatever descriptors and indices the kernel writes.
pub fn ring(bytes: &[u8]) {
    xsk::fake::campaign(bytes);
}
