//! Adds missing capabilities to errors for lack of rights.

use std::io;

use anyhow::anyhow;
use sys::cap::{Cap, Caps};
use sys::errno::{EACCES, EPERM};

/// Capabilities to enter and create namespaces.
pub const LAB: &[Cap] = &[Cap::SysAdmin, Cap::NetAdmin];
/// Capabilities to inspect programs and maps of other owners.
pub const LISTING: &[Cap] = &[Cap::SysAdmin];

/// The error of a command that needs some capabilities, with those that this process lacks.
pub fn explained(error: anyhow::Error, needed: &[Cap]) -> anyhow::Error {
    let Some(refusal) = refusal(&error) else { return error };
    let Ok(caps) = Caps::effective() else { return error };
    let lacks = needed.iter().filter(|cap| !caps.allows(**cap)).map(|cap| cap.name());
    let lacks: Vec<_> = lacks.collect();
    if lacks.is_empty() {
        return error;
    }
    anyhow!("{refusal}; this process lacks {}: run it as root or grant it", lacks.join(" and "))
}

/// The message of the innermost error for lack of rights.
fn refusal(error: &anyhow::Error) -> Option<String> {
    let call =
        |error: &sys::Error| (error.is(EPERM) || error.is(EACCES)).then(|| error.to_string());
    error.chain().find_map(|cause| {
        if let Some(lab::Error::Sys(error)) = cause.downcast_ref() {
            return call(error);
        }
        if let Some(lab::Error::Record { source, .. }) = cause.downcast_ref() {
            return (source.kind() == io::ErrorKind::PermissionDenied).then(|| cause.to_string());
        }
        // The refusal of a change by the map itself is not a lack of capabilities.
        call(cause.downcast_ref()?).filter(|words| words.contains("_ID)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_for_lack_of_rights_are_explained() {
        let denied = |call| sys::Error::new(call, "7", EPERM);
        let table = [
            (anyhow::Error::new(denied("bpf(PROG_GET_FD_BY_ID)")), true),
            (anyhow::Error::new(denied("bpf(MAP_GET_NEXT_ID)")).context("outer"), true),
            (anyhow::Error::new(denied("bpf(MAP_UPDATE_ELEM)")), false),
            (anyhow::Error::new(lab::Error::Sys(denied("mount"))), true),
            (anyhow::Error::new(lab::Error::Sys(sys::Error::new("mount", "", 2))), false),
            (anyhow!("something else"), false),
        ];
        for (error, told) in table {
            assert_eq!(refusal(&error).is_some(), told, "{error:#}");
        }
    }
}
