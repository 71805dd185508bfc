//! Text of the first difference between two runtimes.

use report::text;
use runner::{Difference, What};

use crate::view::Paint;

pub fn text(difference: &Difference, paint: Paint) -> String {
    let place = match difference.packet {
        Some(packet) => format!("first difference at packet {packet}"),
        None => "difference after the run (packet unknown)".to_owned(),
    };
    let what = match &difference.what {
        What::Verdict { .. } => "verdicts".to_owned(),
        What::Bytes { offset, field, .. } => {
            let field = field.as_ref().map(|field| format!(" ({field})"));
            format!("bytes from offset {offset}{}", field.unwrap_or_default())
        }
        What::Metadata { offset, .. } => format!("metadata from offset {offset}"),
        What::Map { map, key, .. } => format!("map `{map}`, key {key}"),
        What::Fault { message } => {
            return format!("{}: {}\n", paint.bad(&place), text::line(message));
        }
    };
    let (kernel, vm) = sides(&difference.what);
    let what = text::line(&what);
    format!("{}: {what}\n  kernel  {kernel}\n  vm      {vm}\n", paint.bad(&place))
}

/// What the kernel and the engine have.
fn sides(what: &What) -> (&str, &str) {
    match what {
        What::Verdict { kernel, vm }
        | What::Bytes { kernel, vm, .. }
        | What::Metadata { kernel, vm, .. } => (kernel, vm),
        What::Map { kernel, vm, .. } => {
            (kernel.as_deref().unwrap_or("absent"), vm.as_deref().unwrap_or("absent"))
        }
        What::Fault { message } => ("", message),
    }
}
