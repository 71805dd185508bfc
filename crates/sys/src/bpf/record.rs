//! Structures that the kernel reads or fills.
//!
//! Rule: integers without implicit padding, checked when they are compiled, so that `Default` is
//! the all-zero value and any bytes are a value. Not here: which structures there are.

/// Marks the structures that [`record`] makes.
///
/// # Safety
/// The type is `repr(C)`, made of integers and arrays of integers, and without padding.
pub(super) unsafe trait Record {}

/// A structure with public fields, and proof that it is a [`Record`].
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[repr(C, align(8))]
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct $name { $(pub $field: $type,)* }

        const _: () = {
            let fields = 0 $(+ size_of::<$type>())*;
            assert!(size_of::<$name>() == fields, "padding");
        };

        // SAFETY: `repr(C)` and integers only; the assertion above excludes padding.
        unsafe impl $crate::bpf::record::Record for $name {}
    };
}

pub(super) use record;
