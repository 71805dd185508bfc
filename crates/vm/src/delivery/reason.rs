//! Why a packet ended without reaching a port: names for counters, the kernel's error numbers.

use std::fmt;

use crate::errno::Errno;

/// One row makes the variant, its label and its error number, so that they cannot drift apart.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $label:literal $errno:expr;)*) => {
        /// Why a packet was lost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Lower case with underscores: a counter's label.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }

            /// What the kernel's tracepoint `xdp_redirect_err` would say.
            pub const fn errno(self) -> Option<Errno> {
                match self {
                    $(Self::$variant => $errno,)*
                }
            }
        }
    };
}

reasons! {
    /// The program said so.
    Dropped "dropped" None;
    Aborted "aborted" None;
    /// The program returned no verdict's number.
    BadVerdict "bad_verdict" None;
    /// The program did what the kernel's verifier would have refused.
    Fault "fault" None;
    /// A redirect verdict without a call that chose a target.
    NoTarget "no_target" Some(Errno::EBADRQC);
    /// No such interface.
    NoInterface "no_interface" Some(Errno::EINVAL);
    InterfaceDown "interface_down" Some(Errno::ENETDOWN);
    /// Longer than the interface's MTU and its header allow.
    TooLong "too_long" Some(Errno::EMSGSIZE);
    /// A broadcast that no entry could take.
    NobodyThere "nobody_there" None;
    /// The devmap entry's program said drop, aborted, or anything but pass.
    EgressDropped "egress_dropped" None;
    EgressAborted "egress_aborted" None;
    EgressBadVerdict "egress_bad_verdict" None;
    /// The cpumap entry's program said drop, or what does not count there.
    CpuDropped "cpu_dropped" None;
    CpuAborted "cpu_aborted" None;
    CpuBadVerdict "cpu_bad_verdict" None;
    /// Redirected between processors more often than `limits::HOPS`.
    TooManyHops "too_many_hops" None;
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
