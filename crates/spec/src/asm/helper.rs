//! The kernel's helper functions, by the numbers that a call instruction carries.
//!
//! The numbers are frozen: new kernel functions for programs are kfuncs, called by name.
//! Not here: what a helper does, or which program type may call it.

/// A helper's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Helper(pub u32);

impl Helper {
    /// As verifier logs spell it, such as `bpf_map_lookup_elem`; `None` for a number that no
    /// kernel knows.
    pub fn name(self) -> Option<&'static str> {
        // Numbers count from 1 without a gap: the table's place is the number less one.
        let place = usize::try_from(self.0).ok()?.checked_sub(1)?;
        NAMES.get(place).copied()
    }

    /// The helper of that name, with or without `bpf_` in front.
    pub fn named(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("bpf_").unwrap_or(name);
        let place = NAMES.iter().position(|known| known.strip_prefix("bpf_") == Some(bare))?;
        Some(Self(u32::try_from(place + 1).ok()?))
    }

    /// All known helpers, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..).take(NAMES.len()).map(Self)
    }
}

/// One row makes both the constant and the name, so that they cannot drift apart.
macro_rules! helpers {
    ($($number:literal $constant:ident $name:literal)*) => {
        impl Helper {
            $(pub const $constant: Self = Self($number);)*
        }
        const NAMES: &[&str] = &[$($name),*];
    };
}

helpers! {
    1 MAP_LOOKUP_ELEM "bpf_map_lookup_elem"
    2 MAP_UPDATE_ELEM "bpf_map_update_elem"
    3 MAP_DELETE_ELEM "bpf_map_delete_elem"
    4 PROBE_READ "bpf_probe_read"
    5 KTIME_GET_NS "bpf_ktime_get_ns"
    6 TRACE_PRINTK "bpf_trace_printk"
    7 GET_PRANDOM_U32 "bpf_get_prandom_u32"
    8 GET_SMP_PROCESSOR_ID "bpf_get_smp_processor_id"
    9 SKB_STORE_BYTES "bpf_skb_store_bytes"
    10 L3_CSUM_REPLACE "bpf_l3_csum_replace"
    11 L4_CSUM_REPLACE "bpf_l4_csum_replace"
    12 TAIL_CALL "bpf_tail_call"
    13 CLONE_REDIRECT "bpf_clone_redirect"
    14 GET_CURRENT_PID_TGID "bpf_get_current_pid_tgid"
    15 GET_CURRENT_UID_GID "bpf_get_current_uid_gid"
    16 GET_CURRENT_COMM "bpf_get_current_comm"
    17 GET_CGROUP_CLASSID "bpf_get_cgroup_classid"
    18 SKB_VLAN_PUSH "bpf_skb_vlan_push"
    19 SKB_VLAN_POP "bpf_skb_vlan_pop"
    20 SKB_GET_TUNNEL_KEY "bpf_skb_get_tunnel_key"
    21 SKB_SET_TUNNEL_KEY "bpf_skb_set_tunnel_key"
    22 PERF_EVENT_READ "bpf_perf_event_read"
    23 REDIRECT "bpf_redirect"
    24 GET_ROUTE_REALM "bpf_get_route_realm"
    25 PERF_EVENT_OUTPUT "bpf_perf_event_output"
    26 SKB_LOAD_BYTES "bpf_skb_load_bytes"
    27 GET_STACKID "bpf_get_stackid"
    28 CSUM_DIFF "bpf_csum_diff"
    29 SKB_GET_TUNNEL_OPT "bpf_skb_get_tunnel_opt"
    30 SKB_SET_TUNNEL_OPT "bpf_skb_set_tunnel_opt"
    31 SKB_CHANGE_PROTO "bpf_skb_change_proto"
    32 SKB_CHANGE_TYPE "bpf_skb_change_type"
    33 SKB_UNDER_CGROUP "bpf_skb_under_cgroup"
    34 GET_HASH_RECALC "bpf_get_hash_recalc"
    35 GET_CURRENT_TASK "bpf_get_current_task"
    36 PROBE_WRITE_USER "bpf_probe_write_user"
    37 CURRENT_TASK_UNDER_CGROUP "bpf_current_task_under_cgroup"
    38 SKB_CHANGE_TAIL "bpf_skb_change_tail"
    39 SKB_PULL_DATA "bpf_skb_pull_data"
    40 CSUM_UPDATE "bpf_csum_update"
    41 SET_HASH_INVALID "bpf_set_hash_invalid"
    42 GET_NUMA_NODE_ID "bpf_get_numa_node_id"
    43 SKB_CHANGE_HEAD "bpf_skb_change_head"
    44 XDP_ADJUST_HEAD "bpf_xdp_adjust_head"
    45 PROBE_READ_STR "bpf_probe_read_str"
    46 GET_SOCKET_COOKIE "bpf_get_socket_cookie"
    47 GET_SOCKET_UID "bpf_get_socket_uid"
    48 SET_HASH "bpf_set_hash"
    49 SETSOCKOPT "bpf_setsockopt"
    50 SKB_ADJUST_ROOM "bpf_skb_adjust_room"
    51 REDIRECT_MAP "bpf_redirect_map"
    52 SK_REDIRECT_MAP "bpf_sk_redirect_map"
    53 SOCK_MAP_UPDATE "bpf_sock_map_update"
    54 XDP_ADJUST_META "bpf_xdp_adjust_meta"
    55 PERF_EVENT_READ_VALUE "bpf_perf_event_read_value"
    56 PERF_PROG_READ_VALUE "bpf_perf_prog_read_value"
    57 GETSOCKOPT "bpf_getsockopt"
    58 OVERRIDE_RETURN "bpf_override_return"
    59 SOCK_OPS_CB_FLAGS_SET "bpf_sock_ops_cb_flags_set"
    60 MSG_REDIRECT_MAP "bpf_msg_redirect_map"
    61 MSG_APPLY_BYTES "bpf_msg_apply_bytes"
    62 MSG_CORK_BYTES "bpf_msg_cork_bytes"
    63 MSG_PULL_DATA "bpf_msg_pull_data"
    64 BIND "bpf_bind"
    65 XDP_ADJUST_TAIL "bpf_xdp_adjust_tail"
    66 SKB_GET_XFRM_STATE "bpf_skb_get_xfrm_state"
    67 GET_STACK "bpf_get_stack"
    68 SKB_LOAD_BYTES_RELATIVE "bpf_skb_load_bytes_relative"
    69 FIB_LOOKUP "bpf_fib_lookup"
    70 SOCK_HASH_UPDATE "bpf_sock_hash_update"
    71 MSG_REDIRECT_HASH "bpf_msg_redirect_hash"
    72 SK_REDIRECT_HASH "bpf_sk_redirect_hash"
    73 LWT_PUSH_ENCAP "bpf_lwt_push_encap"
    74 LWT_SEG6_STORE_BYTES "bpf_lwt_seg6_store_bytes"
    75 LWT_SEG6_ADJUST_SRH "bpf_lwt_seg6_adjust_srh"
    76 LWT_SEG6_ACTION "bpf_lwt_seg6_action"
    77 RC_REPEAT "bpf_rc_repeat"
    78 RC_KEYDOWN "bpf_rc_keydown"
    79 SKB_CGROUP_ID "bpf_skb_cgroup_id"
    80 GET_CURRENT_CGROUP_ID "bpf_get_current_cgroup_id"
    81 GET_LOCAL_STORAGE "bpf_get_local_storage"
    82 SK_SELECT_REUSEPORT "bpf_sk_select_reuseport"
    83 SKB_ANCESTOR_CGROUP_ID "bpf_skb_ancestor_cgroup_id"
    84 SK_LOOKUP_TCP "bpf_sk_lookup_tcp"
    85 SK_LOOKUP_UDP "bpf_sk_lookup_udp"
    86 SK_RELEASE "bpf_sk_release"
    87 MAP_PUSH_ELEM "bpf_map_push_elem"
    88 MAP_POP_ELEM "bpf_map_pop_elem"
    89 MAP_PEEK_ELEM "bpf_map_peek_elem"
    90 MSG_PUSH_DATA "bpf_msg_push_data"
    91 MSG_POP_DATA "bpf_msg_pop_data"
    92 RC_POINTER_REL "bpf_rc_pointer_rel"
    93 SPIN_LOCK "bpf_spin_lock"
    94 SPIN_UNLOCK "bpf_spin_unlock"
    95 SK_FULLSOCK "bpf_sk_fullsock"
    96 TCP_SOCK "bpf_tcp_sock"
    97 SKB_ECN_SET_CE "bpf_skb_ecn_set_ce"
    98 GET_LISTENER_SOCK "bpf_get_listener_sock"
    99 SKC_LOOKUP_TCP "bpf_skc_lookup_tcp"
    100 TCP_CHECK_SYNCOOKIE "bpf_tcp_check_syncookie"
    101 SYSCTL_GET_NAME "bpf_sysctl_get_name"
    102 SYSCTL_GET_CURRENT_VALUE "bpf_sysctl_get_current_value"
    103 SYSCTL_GET_NEW_VALUE "bpf_sysctl_get_new_value"
    104 SYSCTL_SET_NEW_VALUE "bpf_sysctl_set_new_value"
    105 STRTOL "bpf_strtol"
    106 STRTOUL "bpf_strtoul"
    107 SK_STORAGE_GET "bpf_sk_storage_get"
    108 SK_STORAGE_DELETE "bpf_sk_storage_delete"
    109 SEND_SIGNAL "bpf_send_signal"
    110 TCP_GEN_SYNCOOKIE "bpf_tcp_gen_syncookie"
    111 SKB_OUTPUT "bpf_skb_output"
    112 PROBE_READ_USER "bpf_probe_read_user"
    113 PROBE_READ_KERNEL "bpf_probe_read_kernel"
    114 PROBE_READ_USER_STR "bpf_probe_read_user_str"
    115 PROBE_READ_KERNEL_STR "bpf_probe_read_kernel_str"
    116 TCP_SEND_ACK "bpf_tcp_send_ack"
    117 SEND_SIGNAL_THREAD "bpf_send_signal_thread"
    118 JIFFIES64 "bpf_jiffies64"
    119 READ_BRANCH_RECORDS "bpf_read_branch_records"
    120 GET_NS_CURRENT_PID_TGID "bpf_get_ns_current_pid_tgid"
    121 XDP_OUTPUT "bpf_xdp_output"
    122 GET_NETNS_COOKIE "bpf_get_netns_cookie"
    123 GET_CURRENT_ANCESTOR_CGROUP_ID "bpf_get_current_ancestor_cgroup_id"
    124 SK_ASSIGN "bpf_sk_assign"
    125 KTIME_GET_BOOT_NS "bpf_ktime_get_boot_ns"
    126 SEQ_PRINTF "bpf_seq_printf"
    127 SEQ_WRITE "bpf_seq_write"
    128 SK_CGROUP_ID "bpf_sk_cgroup_id"
    129 SK_ANCESTOR_CGROUP_ID "bpf_sk_ancestor_cgroup_id"
    130 RINGBUF_OUTPUT "bpf_ringbuf_output"
    131 RINGBUF_RESERVE "bpf_ringbuf_reserve"
    132 RINGBUF_SUBMIT "bpf_ringbuf_submit"
    133 RINGBUF_DISCARD "bpf_ringbuf_discard"
    134 RINGBUF_QUERY "bpf_ringbuf_query"
    135 CSUM_LEVEL "bpf_csum_level"
    136 SKC_TO_TCP6_SOCK "bpf_skc_to_tcp6_sock"
    137 SKC_TO_TCP_SOCK "bpf_skc_to_tcp_sock"
    138 SKC_TO_TCP_TIMEWAIT_SOCK "bpf_skc_to_tcp_timewait_sock"
    139 SKC_TO_TCP_REQUEST_SOCK "bpf_skc_to_tcp_request_sock"
    140 SKC_TO_UDP6_SOCK "bpf_skc_to_udp6_sock"
    141 GET_TASK_STACK "bpf_get_task_stack"
    142 LOAD_HDR_OPT "bpf_load_hdr_opt"
    143 STORE_HDR_OPT "bpf_store_hdr_opt"
    144 RESERVE_HDR_OPT "bpf_reserve_hdr_opt"
    145 INODE_STORAGE_GET "bpf_inode_storage_get"
    146 INODE_STORAGE_DELETE "bpf_inode_storage_delete"
    147 D_PATH "bpf_d_path"
    148 COPY_FROM_USER "bpf_copy_from_user"
    149 SNPRINTF_BTF "bpf_snprintf_btf"
    150 SEQ_PRINTF_BTF "bpf_seq_printf_btf"
    151 SKB_CGROUP_CLASSID "bpf_skb_cgroup_classid"
    152 REDIRECT_NEIGH "bpf_redirect_neigh"
    153 PER_CPU_PTR "bpf_per_cpu_ptr"
    154 THIS_CPU_PTR "bpf_this_cpu_ptr"
    155 REDIRECT_PEER "bpf_redirect_peer"
    156 TASK_STORAGE_GET "bpf_task_storage_get"
    157 TASK_STORAGE_DELETE "bpf_task_storage_delete"
    158 GET_CURRENT_TASK_BTF "bpf_get_current_task_btf"
    159 BPRM_OPTS_SET "bpf_bprm_opts_set"
    160 KTIME_GET_COARSE_NS "bpf_ktime_get_coarse_ns"
    161 IMA_INODE_HASH "bpf_ima_inode_hash"
    162 SOCK_FROM_FILE "bpf_sock_from_file"
    163 CHECK_MTU "bpf_check_mtu"
    164 FOR_EACH_MAP_ELEM "bpf_for_each_map_elem"
    165 SNPRINTF "bpf_snprintf"
    166 SYS_BPF "bpf_sys_bpf"
    167 BTF_FIND_BY_NAME_KIND "bpf_btf_find_by_name_kind"
    168 SYS_CLOSE "bpf_sys_close"
    169 TIMER_INIT "bpf_timer_init"
    170 TIMER_SET_CALLBACK "bpf_timer_set_callback"
    171 TIMER_START "bpf_timer_start"
    172 TIMER_CANCEL "bpf_timer_cancel"
    173 GET_FUNC_IP "bpf_get_func_ip"
    174 GET_ATTACH_COOKIE "bpf_get_attach_cookie"
    175 TASK_PT_REGS "bpf_task_pt_regs"
    176 GET_BRANCH_SNAPSHOT "bpf_get_branch_snapshot"
    177 TRACE_VPRINTK "bpf_trace_vprintk"
    178 SKC_TO_UNIX_SOCK "bpf_skc_to_unix_sock"
    179 KALLSYMS_LOOKUP_NAME "bpf_kallsyms_lookup_name"
    180 FIND_VMA "bpf_find_vma"
    181 LOOP "bpf_loop"
    182 STRNCMP "bpf_strncmp"
    183 GET_FUNC_ARG "bpf_get_func_arg"
    184 GET_FUNC_RET "bpf_get_func_ret"
    185 GET_FUNC_ARG_CNT "bpf_get_func_arg_cnt"
    186 GET_RETVAL "bpf_get_retval"
    187 SET_RETVAL "bpf_set_retval"
    188 XDP_GET_BUFF_LEN "bpf_xdp_get_buff_len"
    189 XDP_LOAD_BYTES "bpf_xdp_load_bytes"
    190 XDP_STORE_BYTES "bpf_xdp_store_bytes"
    191 COPY_FROM_USER_TASK "bpf_copy_from_user_task"
    192 SKB_SET_TSTAMP "bpf_skb_set_tstamp"
    193 IMA_FILE_HASH "bpf_ima_file_hash"
    194 KPTR_XCHG "bpf_kptr_xchg"
    195 MAP_LOOKUP_PERCPU_ELEM "bpf_map_lookup_percpu_elem"
    196 SKC_TO_MPTCP_SOCK "bpf_skc_to_mptcp_sock"
    197 DYNPTR_FROM_MEM "bpf_dynptr_from_mem"
    198 RINGBUF_RESERVE_DYNPTR "bpf_ringbuf_reserve_dynptr"
    199 RINGBUF_SUBMIT_DYNPTR "bpf_ringbuf_submit_dynptr"
    200 RINGBUF_DISCARD_DYNPTR "bpf_ringbuf_discard_dynptr"
    201 DYNPTR_READ "bpf_dynptr_read"
    202 DYNPTR_WRITE "bpf_dynptr_write"
    203 DYNPTR_DATA "bpf_dynptr_data"
    204 TCP_RAW_GEN_SYNCOOKIE_IPV4 "bpf_tcp_raw_gen_syncookie_ipv4"
    205 TCP_RAW_GEN_SYNCOOKIE_IPV6 "bpf_tcp_raw_gen_syncookie_ipv6"
    206 TCP_RAW_CHECK_SYNCOOKIE_IPV4 "bpf_tcp_raw_check_syncookie_ipv4"
    207 TCP_RAW_CHECK_SYNCOOKIE_IPV6 "bpf_tcp_raw_check_syncookie_ipv6"
    208 KTIME_GET_TAI_NS "bpf_ktime_get_tai_ns"
    209 USER_RINGBUF_DRAIN "bpf_user_ringbuf_drain"
    210 CGRP_STORAGE_GET "bpf_cgrp_storage_get"
    211 CGRP_STORAGE_DELETE "bpf_cgrp_storage_delete"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree() {
        for (helper, name) in [
            (Helper::MAP_LOOKUP_ELEM, "bpf_map_lookup_elem"),
            (Helper::TAIL_CALL, "bpf_tail_call"),
            (Helper::REDIRECT_MAP, "bpf_redirect_map"),
            (Helper::FIB_LOOKUP, "bpf_fib_lookup"),
            (Helper::XDP_GET_BUFF_LEN, "bpf_xdp_get_buff_len"),
            (Helper::CGRP_STORAGE_DELETE, "bpf_cgrp_storage_delete"),
        ] {
            assert_eq!(helper.name(), Some(name));
            assert_eq!(Helper::named(name), Some(helper));
        }
        assert_eq!(
            [1, 12, 51, 69, 188, 211].map(Helper).map(|helper| helper.name().is_some()),
            [true; 6]
        );
        assert_eq!(Helper::XDP_GET_BUFF_LEN, Helper(188));
        assert_eq!(Helper::all().count(), 211);
        assert!(Helper::all().all(|helper| Helper::named(helper.name().unwrap()) == Some(helper)));
    }

    #[test]
    fn unknown_numbers_have_no_name() {
        for number in [0, 212, u32::MAX] {
            assert_eq!(Helper(number).name(), None);
        }
        assert_eq!(Helper::named("unspec"), None);
    }
}
