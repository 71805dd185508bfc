//! Reasons for the loss of a packet: labels of counters, error numbers of the kernel.

use std::fmt;

use crate::errno::Errno;

/// One row defines the variant, its label and its error number.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $label:literal $errno:expr;)*) => {
        /// Why a packet was lost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Name in lower case with underscores, for use as a counter's label.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }

            /// Error number that the kernel's tracepoint `xdp_redirect_err` reports.
            pub const fn errno(self) -> Option<Errno> {
                match self {
                    $(Self::$variant => $errno,)*
                }
            }
        }
    };
}

reasons! {
    /// The program returned `XDP_DROP`.
    Dropped "dropped" None;
    Aborted "aborted" None;
    /// The program returned a number that is not a verdict.
    BadVerdict "bad_verdict" None;
    /// The program was stopped by a fault.
    Fault "fault" None;
    /// A redirect verdict without a call that chose a target.
    NoTarget "no_target" Some(Errno::EBADRQC);
    /// The interface does not exist.
    NoInterface "no_interface" Some(Errno::EINVAL);
    InterfaceDown "interface_down" Some(Errno::ENETDOWN);
    /// The frame exceeds the interface's MTU and header.
    TooLong "too_long" Some(Errno::EMSGSIZE);
    /// No entry accepted the broadcast.
    NobodyThere "nobody_there" None;
    /// The devmap entry's program returned `XDP_DROP`.
    EgressDropped "egress_dropped" None;
    EgressAborted "egress_aborted" None;
    EgressBadVerdict "egress_bad_verdict" None;
    /// The cpumap entry's program returned `XDP_DROP` or a verdict that is not supported there.
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
