//! `Flow`: the packet for which a route is looked up.

/// The addresses and marks that determine a route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    pub destination: u128,
    pub source: u128,
    /// Whether the source is known; otherwise it is selected later.
    pub has_source: bool,
    /// Numbers of the ingress interface and of the requested egress interface (0: any).
    pub iif: u32,
    pub oif: u32,
    pub mark: u32,
    pub tos: u8,
}

impl Flow {
    /// The interface that IPv6 prefers: egress, else ingress.
    pub fn wanted(&self) -> u32 {
        if self.oif != 0 { self.oif } else { self.iif }
    }
}
