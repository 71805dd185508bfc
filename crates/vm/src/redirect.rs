//! Where a program wants a packet to go: what a redirect helper leaves for delivery.

/// Where one entry of a redirect map leads. Programs are numbers in the machine's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Device { ifindex: u32, program: Option<u32> },
    Cpu { cpu: u32, program: Option<u32> },
    Xsk { map: u32, key: u32 },
}

/// What the redirect helpers of a run have left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Redirect {
    pub choice: Choice,
    /// The interface or key that was named last. After a lookup that failed, a program that says
    /// redirect all the same reaches the interface of this number.
    pub index: u32,
}

/// Where the packet goes if the program says redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    #[default]
    Nothing,
    To(Target),
    /// All entries of a devmap, by its number, perhaps but for the packet's own interface.
    Broadcast {
        map: u32,
        exclude_ingress: bool,
    },
}

impl Redirect {
    pub fn to_interface(ifindex: u32) -> Self {
        let target = Target::Device { ifindex, program: None };
        Self { choice: Choice::To(target), index: ifindex }
    }
}
