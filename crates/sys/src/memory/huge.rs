//! Huge pages that the administrator has set aside, and what to do where there are too few.

use std::fs;

/// Bytes of the huge pages used here: the size that every x86 and ARM machine has.
pub const HUGE_PAGE: usize = 2 << 20;

/// Numbers of huge pages of [`HUGE_PAGE`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePages {
    /// Number of reserved pages.
    pub total: u64,
    /// Not in use, and not promised to anybody.
    pub free: u64,
}

/// `None` where the kernel or the processor has no pages of this size.
pub fn huge_pages() -> Option<HugePages> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(format!("{FOLDER}/{name}")).ok()?.trim().parse().ok()
    };
    let promised = number("resv_hugepages")?;
    let free = number("free_hugepages")?.saturating_sub(promised);
    Some(HugePages { total: number("nr_hugepages")?, free })
}

/// Why `len` bytes in huge pages are unavailable, and what to set.
pub(super) fn why_refused(len: usize) -> String {
    explain(len, huge_pages())
}

fn explain(len: usize, state: Option<HugePages>) -> String {
    let Some(HugePages { total, free }) = state else {
        return "this kernel has no huge pages of 2 MiB: use plain ones".to_owned();
    };
    let needed = len.div_ceil(HUGE_PAGE) as u64;
    if needed <= free {
        return format!(
            "{free} of {total} huge pages are free and {needed} are needed: \
             a limit (cgroup hugetlb, memory policy) keeps this process from them"
        );
    }
    let total = total.saturating_add(needed - free);
    format!(
        "it needs {needed} huge pages of 2 MiB and {free} are free: \
         set aside more (sysctl vm.nr_hugepages={total}) or use plain ones"
    )
}

const FOLDER: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_the_setting() {
        let pages = |total, free| Some(HugePages { total, free });
        let cases = [
            (1, None, "no huge pages of 2 MiB"),
            (1, pages(0, 0), "needs 1 huge pages of 2 MiB and 0 are free"),
            (8 << 20, pages(3, 1), "vm.nr_hugepages=6)"),
            ((8 << 20) + 1, pages(3, 1), "vm.nr_hugepages=7)"),
            (4 << 20, pages(8, 2), "cgroup"),
        ];
        for (len, state, expected) in cases {
            let text = explain(len, state);
            assert!(text.contains(expected), "{len} of {state:?}: {text}");
        }
    }
}
