//! The kind of programs that a map of programs accepts: that of the first program that was inserted
//! or used it.
//!
//! The kernel binds a program array, devmap or cpumap to the first program, because programs in the
//! map run in its place: same type, same `xdp.frags`, same sleepability, and in a program array the
//! same attach type.

use std::sync::OnceLock;

use spec::ProgramKind;

#[derive(Debug, Default)]
pub(super) struct Owner(OnceLock<ProgramKind>);

impl Owner {
    /// Whether a program of that kind may be in the map, or use it. The first is always accepted.
    pub fn admits(&self, kind: ProgramKind) -> bool {
        let owner = *self.0.get_or_init(|| kind);
        owner.program_type == kind.program_type && owner.flags & ALIKE == kind.flags & ALIKE
    }

    /// Like [`Owner::admits`], and also of the same attach type.
    pub fn admits_same(&self, kind: ProgramKind) -> bool {
        self.admits(kind) && self.0.get().is_some_and(|owner| owner.attach_type == kind.attach_type)
    }
}

/// `BPF_F_XDP_HAS_FRAGS` and `BPF_F_SLEEPABLE`.
const ALIKE: u32 = 1 << 5 | 1 << 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_decides() {
        let owner = Owner::default();
        assert!(owner.admits(ProgramKind::XDP_FRAGS));
        assert!(!owner.admits(ProgramKind::XDP));
        assert!(!owner.admits(ProgramKind::TC));
        let frags = ProgramKind { flags: 1 << 5, ..ProgramKind::XDP_DEVMAP };
        assert!(owner.admits(frags));
        assert!(!owner.admits_same(frags));
        assert!(owner.admits_same(ProgramKind::XDP_FRAGS));
    }
}
