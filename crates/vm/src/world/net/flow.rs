//! `Flow`: the packet, real or asked about, for which a route is looked up.

/// The addresses and marks that decide on a route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    pub destination: u128,
    pub source: u128,
    /// Whether the source is known, or yet to be chosen.
    pub has_source: bool,
    /// Numbers of interfaces: where the packet came in, where it must go out (0: anywhere).
    pub iif: u32,
    pub oif: u32,
    pub mark: u32,
    pub tos: u8,
}

impl Flow {
    /// The interface that IPv6 prefers: where to go out, or else where the packet came in.
    pub fn wanted(&self) -> u32 {
        if self.oif != 0 { self.oif } else { self.iif }
    }
}
