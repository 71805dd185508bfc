// SPDX-License-Identifier: Dual MIT/GPL
/*
 * losses: counts frames that XDP lost, by cause, at the kernel's tracepoints.
 *
 * The kernel passes each of these frames by exactly one tracepoint, except one whose redirect was
 * refused: many drivers report it again as an exception. Interfaces count if they are in one
 * namespace, since others may have the same index.
 * Rule: nothing is sampled; a cause for which the table has no place is counted in losses_other.
 */
#include "losses.abi.h"

#include <xway/bpf.h>
#include <xway/device.h>

struct bpf_prog_aux {
	__u32 id;
} __attribute__((preserve_access_index));

struct bpf_prog {
	struct bpf_prog_aux *aux;
} __attribute__((preserve_access_index));

/* TP_PROTO in include/trace/events/xdp.h, one register each. */
struct exception_args {
	const struct net_device *device;
	const struct bpf_prog *program;
	__u64 verdict;
};

/* Linux 5.13. */
struct redirect_args {
	const struct net_device *device;
	const struct bpf_prog *program;
	/* An entry of a device map begins with the address of its device. */
	const struct net_device *const *entry;
	__u64 error;
	__u64 map_type;
	__u64 map;
	__u64 index;
};

struct transmit_args {
	const struct net_device *from;
	const struct net_device *to;
	__u64 sent;
	__u64 drops;
	__u64 error;
};

struct tx_args {
	const struct net_device *device;
	__u64 sent;
	__u64 drops;
	__u64 error;
};

struct cpu_queue_args {
	__u64 map;
	__u64 processed;
	__u64 drops;
	__u64 cpu;
};

/* Inode number of the namespace whose interfaces count. */
const volatile __u32 losses_netns;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, LOSSES_CAUSES);
	__type(key, struct losses_key);
	__type(value, __u64);
} losses_causes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} losses_other SEC(".maps");

xway_inline void losses_count(const struct losses_key *key, __u32 frames)
{
	__u64 *count = bpf_map_lookup_elem(&losses_causes, key);
	__u64 zero = 0;
	__u32 only = 0;

	if (!count) {
		bpf_map_update_elem(&losses_causes, key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&losses_causes, key);
	}
	if (!count)
		count = bpf_map_lookup_elem(&losses_other, &only);
	if (count)
		*count += frames;
}

/* Index of a device of the namespace; 0 for any other. */
xway_inline __u32 losses_index(const struct net_device *device)
{
	return xway_device_netns(device) == losses_netns ? xway_device_index(device) : 0;
}

xway_inline __u32 losses_program(const struct bpf_prog *program)
{
	struct bpf_prog_aux *aux = NULL;
	__u32 id = 0;

	xway_read(aux, program->aux);
	xway_read(id, aux->id);
	return id;
}

/* Errors are negative, and the registers of tracepoints hold them as 32 bits. */
xway_inline __u32 losses_errno(__u64 error)
{
	return -(__u32)error;
}

SEC("raw_tp/xdp_exception")
int losses_exception(struct exception_args *args)
{
	struct losses_key key = { .point = LOSSES_EXCEPTION };

	key.ifindex = losses_index(args->device);
	key.code = args->verdict;
	key.program = losses_program(args->program);
	if (key.ifindex)
		losses_count(&key, 1);
	return 0;
}

SEC("raw_tp/xdp_redirect_err")
int losses_redirect(struct redirect_args *args)
{
	struct losses_key key = { .point = LOSSES_REDIRECT };
	const struct net_device *target = NULL;

	key.ifindex = losses_index(args->device);
	key.code = losses_errno(args->error);
	key.program = losses_program(args->program);
	key.map_type = args->map_type;
	key.index = args->index;
	if (key.map_type != BPF_MAP_TYPE_UNSPEC)
		key.map = args->map;
	else
		key.target = key.index;
	if (key.map_type == BPF_MAP_TYPE_DEVMAP || key.map_type == BPF_MAP_TYPE_DEVMAP_HASH) {
		/* A broadcast has no entry. */
		if (args->entry)
			xway_read(target, *args->entry);
		if (target)
			key.target = losses_index(target);
	}
	if (key.ifindex || key.target)
		losses_count(&key, 1);
	return 0;
}

SEC("raw_tp/xdp_devmap_xmit")
int losses_transmit(struct transmit_args *args)
{
	struct losses_key key = { .point = LOSSES_TRANSMIT };
	__u32 frames = args->drops;

	if (!frames)
		return 0;
	key.ifindex = losses_index(args->from);
	key.target = losses_index(args->to);
	key.code = losses_errno(args->error);
	if (key.ifindex || key.target)
		losses_count(&key, frames);
	return 0;
}

SEC("raw_tp/xdp_bulk_tx")
int losses_tx(struct tx_args *args)
{
	struct losses_key key = { .point = LOSSES_TX };
	__u32 frames = args->drops;

	if (!frames)
		return 0;
	key.ifindex = losses_index(args->device);
	key.code = losses_errno(args->error);
	if (key.ifindex)
		losses_count(&key, frames);
	return 0;
}

/* A CPU map belongs to no namespace; its id shows whether an interface uses it. */
xway_inline int losses_cpu(struct cpu_queue_args *args, enum losses_point point, __u32 cpu)
{
	struct losses_key key = { .point = point, .map_type = BPF_MAP_TYPE_CPUMAP };
	__u32 frames = args->drops;

	if (!frames)
		return 0;
	key.map = args->map;
	key.index = cpu;
	losses_count(&key, frames);
	return 0;
}

SEC("raw_tp/xdp_cpumap_enqueue")
int losses_cpu_queue(struct cpu_queue_args *args)
{
	return losses_cpu(args, LOSSES_CPU_QUEUE, args->cpu);
}

/* The kernel thread runs on the processor that the map names. */
SEC("raw_tp/xdp_cpumap_kthread")
int losses_cpu_stack(struct cpu_queue_args *args)
{
	return losses_cpu(args, LOSSES_CPU_STACK, bpf_get_smp_processor_id());
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
