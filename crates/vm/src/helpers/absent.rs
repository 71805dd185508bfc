//! All functions that Linux 6.18 lets an XDP program call, and why some are not supported.
//!
//! Rule: a function of these lists is either in a topic's table or in [`REFUSED`] with the reason
//! that a load fails with; a test compares both with `docs/feature-matrix.md`.
//! The lists were determined by trying each function on the kernel.

use spec::asm::Helper;

use crate::error::Unavailable;

/// Why a helper cannot be called.
pub(super) fn of_helper(helper: Helper) -> Unavailable {
    let known = helper.name().and_then(reason);
    known.unwrap_or(if XDP_HELPERS.contains(&helper.0) {
        Unavailable::NotYet
    } else {
        Unavailable::ProgramType
    })
}

/// Why a kfunc cannot be called.
pub(super) fn of_kfunc(name: &str) -> Unavailable {
    let name = name.split("___").next().unwrap_or(name);
    let known = reason(name);
    known.unwrap_or(if XDP_KFUNCS.contains(&name) {
        Unavailable::NotYet
    } else {
        Unavailable::UnknownKfunc
    })
}

fn reason(name: &str) -> Option<Unavailable> {
    let mut groups = REFUSED.iter();
    groups.find(|(_, names)| names.contains(&name)).map(|(reason, _)| *reason)
}

/// The helpers, by number.
#[rustfmt::skip]
pub(super) const XDP_HELPERS: [u32; 104] = [
    1, 2, 3, 5, 6, 7, 8, 12, 14, 15, 16, 17, 22, 23, 25, 28, 35, 37, 42, 44, 51, 54, 55, 65, 69,
    80, 84, 85, 86, 87, 88, 89, 93, 94, 99, 100, 105, 106, 109, 110, 112, 113, 114, 115, 117, 118,
    120, 123, 125, 130, 131, 132, 133, 134, 136, 137, 138, 139, 140, 141, 148, 149, 153, 154, 156,
    157, 158, 160, 163, 164, 165, 169, 170, 171, 172, 175, 176, 177, 178, 180, 181, 182, 188, 189,
    190, 191, 194, 195, 196, 197, 198, 199, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210,
    211,
];

/// The kfuncs, by name.
pub(super) const XDP_KFUNCS: &[&str] = &[
    "__bpf_trap",
    "bpf_arena_alloc_pages",
    "bpf_arena_free_pages",
    "bpf_arena_reserve_pages",
    "bpf_cast_to_kern_ctx",
    "bpf_cgroup_acquire",
    "bpf_cgroup_ancestor",
    "bpf_cgroup_from_id",
    "bpf_cgroup_read_xattr",
    "bpf_cgroup_release",
    "bpf_copy_from_user_dynptr",
    "bpf_copy_from_user_str",
    "bpf_copy_from_user_str_dynptr",
    "bpf_copy_from_user_task_dynptr",
    "bpf_copy_from_user_task_str",
    "bpf_copy_from_user_task_str_dynptr",
    "bpf_crypto_decrypt",
    "bpf_crypto_encrypt",
    "bpf_ct_change_status",
    "bpf_ct_change_timeout",
    "bpf_ct_insert_entry",
    "bpf_ct_release",
    "bpf_ct_set_nat_info",
    "bpf_ct_set_status",
    "bpf_ct_set_timeout",
    "bpf_dynptr_adjust",
    "bpf_dynptr_clone",
    "bpf_dynptr_copy",
    "bpf_dynptr_from_xdp",
    "bpf_dynptr_is_null",
    "bpf_dynptr_is_rdonly",
    "bpf_dynptr_memset",
    "bpf_dynptr_size",
    "bpf_dynptr_slice",
    "bpf_dynptr_slice_rdwr",
    "bpf_get_kmem_cache",
    "bpf_iter_bits_destroy",
    "bpf_iter_bits_new",
    "bpf_iter_bits_next",
    "bpf_iter_css_destroy",
    "bpf_iter_css_new",
    "bpf_iter_css_next",
    "bpf_iter_css_task_destroy",
    "bpf_iter_css_task_new",
    "bpf_iter_css_task_next",
    "bpf_iter_dmabuf_destroy",
    "bpf_iter_dmabuf_new",
    "bpf_iter_dmabuf_next",
    "bpf_iter_kmem_cache_destroy",
    "bpf_iter_kmem_cache_new",
    "bpf_iter_kmem_cache_next",
    "bpf_iter_num_destroy",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_task_destroy",
    "bpf_iter_task_new",
    "bpf_iter_task_next",
    "bpf_iter_task_vma_destroy",
    "bpf_iter_task_vma_new",
    "bpf_iter_task_vma_next",
    "bpf_key_put",
    "bpf_list_back",
    "bpf_list_front",
    "bpf_list_pop_back",
    "bpf_list_pop_front",
    "bpf_list_push_back_impl",
    "bpf_list_push_front_impl",
    "bpf_local_irq_restore",
    "bpf_local_irq_save",
    "bpf_lookup_system_key",
    "bpf_lookup_user_key",
    "bpf_map_sum_elem_count",
    "bpf_modify_return_test_tp",
    "bpf_obj_drop_impl",
    "bpf_obj_new_impl",
    "bpf_percpu_obj_drop_impl",
    "bpf_percpu_obj_new_impl",
    "bpf_preempt_disable",
    "bpf_preempt_enable",
    "bpf_probe_read_kernel_dynptr",
    "bpf_probe_read_kernel_str_dynptr",
    "bpf_probe_read_user_dynptr",
    "bpf_probe_read_user_str_dynptr",
    "bpf_rbtree_add_impl",
    "bpf_rbtree_first",
    "bpf_rbtree_left",
    "bpf_rbtree_remove",
    "bpf_rbtree_right",
    "bpf_rbtree_root",
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_rdonly_cast",
    "bpf_refcount_acquire_impl",
    "bpf_res_spin_lock",
    "bpf_res_spin_lock_irqsave",
    "bpf_res_spin_unlock",
    "bpf_res_spin_unlock_irqrestore",
    "bpf_send_signal_task",
    "bpf_skb_ct_alloc",
    "bpf_skb_ct_lookup",
    "bpf_strcasecmp",
    "bpf_strchr",
    "bpf_strchrnul",
    "bpf_strcmp",
    "bpf_strcspn",
    "bpf_stream_vprintk_impl",
    "bpf_strlen",
    "bpf_strnchr",
    "bpf_strnlen",
    "bpf_strnstr",
    "bpf_strrchr",
    "bpf_strspn",
    "bpf_strstr",
    "bpf_task_acquire",
    "bpf_task_from_pid",
    "bpf_task_from_vpid",
    "bpf_task_get_cgroup1",
    "bpf_task_release",
    "bpf_task_under_cgroup",
    "bpf_task_work_schedule_resume_impl",
    "bpf_task_work_schedule_signal_impl",
    "bpf_throw",
    "bpf_wq_init",
    "bpf_wq_set_callback_impl",
    "bpf_wq_start",
    "bpf_xdp_ct_alloc",
    "bpf_xdp_ct_lookup",
    "bpf_xdp_get_xfrm_state",
    "bpf_xdp_metadata_rx_hash",
    "bpf_xdp_metadata_rx_timestamp",
    "bpf_xdp_metadata_rx_vlan_tag",
    "bpf_xdp_pull_data",
    "bpf_xdp_xfrm_state_release",
];

/// Functions that fail at load, by reason.
const REFUSED: &[(Unavailable, &[&str])] = &[
    (
        Unavailable::MaySleep,
        &[
            "bpf_copy_from_user",
            "bpf_copy_from_user_task",
            "bpf_arena_alloc_pages",
            "bpf_arena_free_pages",
            "bpf_arena_reserve_pages",
            "bpf_copy_from_user_dynptr",
            "bpf_copy_from_user_str",
            "bpf_copy_from_user_str_dynptr",
            "bpf_copy_from_user_task_dynptr",
            "bpf_copy_from_user_task_str",
            "bpf_copy_from_user_task_str_dynptr",
            "bpf_iter_dmabuf_destroy",
            "bpf_iter_dmabuf_new",
            "bpf_iter_dmabuf_next",
            "bpf_iter_kmem_cache_destroy",
            "bpf_iter_kmem_cache_new",
            "bpf_iter_kmem_cache_next",
            "bpf_lookup_user_key",
        ],
    ),
    (Unavailable::TakesSkBuff, &["bpf_skb_ct_alloc", "bpf_skb_ct_lookup"]),
    (
        Unavailable::MapType,
        &[
            "bpf_current_task_under_cgroup",
            "bpf_task_storage_get",
            "bpf_task_storage_delete",
            "bpf_cgrp_storage_get",
            "bpf_cgrp_storage_delete",
        ],
    ),
    (
        Unavailable::NoTasks,
        &[
            "bpf_cgroup_acquire",
            "bpf_cgroup_ancestor",
            "bpf_cgroup_from_id",
            "bpf_cgroup_read_xattr",
            "bpf_cgroup_release",
            "bpf_iter_css_destroy",
            "bpf_iter_css_new",
            "bpf_iter_css_next",
            "bpf_iter_css_task_destroy",
            "bpf_iter_css_task_new",
            "bpf_iter_css_task_next",
            "bpf_iter_task_destroy",
            "bpf_iter_task_new",
            "bpf_iter_task_next",
            "bpf_iter_task_vma_destroy",
            "bpf_iter_task_vma_new",
            "bpf_iter_task_vma_next",
            "bpf_send_signal_task",
            "bpf_task_acquire",
            "bpf_task_from_pid",
            "bpf_task_from_vpid",
            "bpf_task_get_cgroup1",
            "bpf_task_release",
            "bpf_task_under_cgroup",
            "bpf_task_work_schedule_resume_impl",
            "bpf_task_work_schedule_signal_impl",
        ],
    ),
    (
        Unavailable::NoKernel,
        &[
            "bpf_cast_to_kern_ctx",
            "bpf_get_kmem_cache",
            "bpf_key_put",
            "bpf_lookup_system_key",
            "bpf_snprintf_btf",
        ],
    ),
    (Unavailable::CryptoContext, &["bpf_crypto_decrypt", "bpf_crypto_encrypt"]),
];

#[cfg(test)]
mod tests {
    use super::super::{HELPERS, KFUNCS, helper, kfunc};
    use super::*;

    const MATRIX: &str = include_str!("../../../../docs/feature-matrix.md");

    /// The cells of a function's row in the matrix.
    fn row(name: &str) -> Vec<&'static str> {
        let start = format!("| `{name}` |");
        let line = MATRIX.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("{name} has no row in docs/feature-matrix.md"));
        line.trim_matches('|').split('|').map(str::trim).collect()
    }

    /// Checks that the matrix, the tables and the refusals agree on a function.
    fn check(name: &str, number: Option<u32>, is_there: bool) {
        let cells = row(name);
        let [_, in_matrix, by, remark] = cells[..] else { panic!("{name}: four cells a row") };
        let number = number.map_or("kfunc".to_owned(), |number| number.to_string());
        assert_eq!(in_matrix, number, "{name}");
        assert_eq!(by != "no", is_there, "{name}: the matrix says `{by}`");
        assert_eq!(reason(name).is_some(), !is_there, "{name}: refused with a reason or supported");
        let words = reason(name).map(|reason| reason.to_string());
        assert!(is_there || remark == words.unwrap(), "{name}: `{remark}`");
    }

    #[test]
    fn every_helper_of_the_kernel_is_supported_or_refused_with_a_reason() {
        for number in XDP_HELPERS {
            let name = Helper(number).name().unwrap();
            check(
                name,
                Some(number),
                helper(Helper(number)).is_ok() || number == Helper::TAIL_CALL.0,
            );
        }
        for row in HELPERS.iter().flat_map(|topic| topic.iter()) {
            assert!(
                XDP_HELPERS.contains(&row.helper.0),
                "{:?} is not available to XDP programs",
                row.helper
            );
        }
    }

    #[test]
    fn every_kfunc_of_the_kernel_is_supported_or_refused_with_a_reason() {
        for name in XDP_KFUNCS {
            check(name, None, kfunc(name).is_ok());
        }
        for row in KFUNCS.iter().flat_map(|topic| topic.iter()) {
            assert!(
                XDP_KFUNCS.contains(&row.name),
                "{} is not available to XDP programs",
                row.name
            );
        }
    }

    #[test]
    fn no_function_is_in_two_tables() {
        let helpers = HELPERS.iter().flat_map(|topic| topic.iter()).map(|row| row.helper.0);
        let mut numbers: Vec<_> = helpers.collect();
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let kfuncs = KFUNCS.iter().flat_map(|topic| topic.iter()).map(|row| row.name);
        let mut names: Vec<_> = kfuncs.collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }
}
