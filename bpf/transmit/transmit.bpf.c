// SPDX-License-Identifier: Dual MIT/GPL
/*
 * transmit: counts by errno what drivers did with the frames of a generator's threads.
 *
 * A program on live frames knows what it passed to an interface, but not the outcome: the frames
 * are passed to the driver in bulk after the program has ended. The kernel reports the outcome of
 * each bulk at the tracepoint xdp_devmap_xmit, and that of a frame that it refuses itself at
 * xdp_redirect_err.
 *
 * Frames belong to the generator if one of its threads sends them and if they come from the
 * interface that its live runs seem to receive from. Either condition alone is not sufficient: the
 * threads' processors also do work of other interfaces, and other processes send from that
 * interface, too.
 */
#include "transmit.abi.h"

#include <xway/bpf.h>
#include <xway/device.h>

/* TP_PROTO in include/trace/events/xdp.h, one register each. */
struct xmit_args {
	__u64 from;
	__u64 to;
	__u64 sent;
	__u64 drops;
	__u64 error;
};

struct refused_args {
	__u64 from;
	__u64 program;
	__u64 target;
	__u64 error;
};

struct enroll_args {
	__u64 place;
};

XWAY_HELPER __u64 (*const bpf_get_current_pid_tgid)(void) =
	(void *)BPF_FUNC_get_current_pid_tgid;

const volatile struct transmit_source transmit_source;

struct all_threads {
	struct transmit_thread all[TRANSMIT_THREADS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct all_threads);
} transmit_threads SEC(".maps");

xway_inline struct all_threads *transmit_all(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&transmit_threads, &only);
}

/* Whether a device is the source. */
xway_inline int transmit_is_source(const struct net_device *device)
{
	return xway_device_index(device) == transmit_source.ifindex &&
	       xway_device_netns(device) == transmit_source.netns;
}

/* The running thread, if it belongs to the generator and the frames do, too. */
xway_inline struct transmit_thread *transmit_find(__u64 device)
{
	__u32 id = (__u32)bpf_get_current_pid_tgid();
	struct all_threads *threads = transmit_all();

	if (!threads)
		return NULL;
	for (int place = 0; place < TRANSMIT_THREADS; place++) {
		struct transmit_thread *thread = &threads->all[place];

		if (!thread->id)
			return NULL;
		if (thread->id != id)
			continue;
		if (thread->device == device)
			return thread;
		/*
		 * The address of a device does not change, so one comparison suffices the next
		 * time.
		 */
		if (!transmit_is_source((const struct net_device *)device))
			return NULL;
		thread->device = device;
		return thread;
	}
	return NULL;
}

xway_inline void transmit_lose(struct transmit_thread *thread, __u32 frames, __u64 error)
{
	__u64 errno = -(int)error;

	for (int i = 0; i < TRANSMIT_REASONS; i++) {
		struct transmit_loss *loss = &thread->losses[i];
		int is_last = i == TRANSMIT_REASONS - 1;

		if (loss->frames && loss->error != errno && !is_last)
			continue;
		loss->error = errno;
		loss->frames += frames;
		return;
	}
}

/*
 * Run by each thread for itself before it sends, since only the kernel knows a thread's ID in a PID
 * namespace. Returns whether the entry exists.
 */
SEC("raw_tp")
int transmit_enroll(struct enroll_args *args)
{
	struct all_threads *threads = transmit_all();
	__u32 place = args->place;

	if (!threads || place >= TRANSMIT_THREADS)
		return 0;
	threads->all[place].id = (__u32)bpf_get_current_pid_tgid();
	return 1;
}

SEC("raw_tp/xdp_devmap_xmit")
int transmit_xmit(struct xmit_args *args)
{
	struct transmit_thread *thread = transmit_find(args->from);

	if (!thread)
		return 0;
	thread->sent += (__u32)args->sent;
	if ((__u32)args->drops)
		transmit_lose(thread, args->drops, args->error);
	return 0;
}

SEC("raw_tp/xdp_redirect_err")
int transmit_refused(struct refused_args *args)
{
	struct transmit_thread *thread = transmit_find(args->from);

	if (thread)
		transmit_lose(thread, 1, args->error);
	return 0;
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
