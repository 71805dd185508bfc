//! The target of a redirect, which helpers set and delivery uses.

/// Target of an entry of a redirect map. Programs are numbers in the machine's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Device { ifindex: u32, program: Option<u32> },
    Cpu { cpu: u32, program: Option<u32> },
    Xsk { map: u32, key: u32 },
}

/// State that the redirect helpers of a run set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Redirect {
    pub choice: Choice,
    /// The last interface or key. After a failed lookup, a program that returns redirect
    /// nevertheless reaches the interface of this number.
    pub index: u32,
}

/// Target of the packet if the program returns redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    #[default]
    Nothing,
    To(Target),
    /// All entries of a devmap, by its number; optionally without the ingress interface.
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
