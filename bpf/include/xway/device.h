/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Network devices as programs at tracepoints see them: index and namespace.
 *
 * Rule: only the fields that are read are declared; the loader relocates them for the running
 * kernel. Not here: programs at XDP, which have no device.
 */
#ifndef XWAY_DEVICE_H
#define XWAY_DEVICE_H

#include <xway/bpf.h>

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

XWAY_HELPER long (*const bpf_probe_read_kernel)(void *to, __u32 size, const void *from) =
	(void *)BPF_FUNC_probe_read_kernel;

#define xway_read(to, from) bpf_probe_read_kernel(&(to), sizeof(to), &(from))

xway_inline __u32 xway_device_index(const struct net_device *device)
{
	int ifindex = 0;

	xway_read(ifindex, device->ifindex);
	return (__u32)ifindex;
}

/* Inode number of the device's namespace. */
xway_inline __u32 xway_device_netns(const struct net_device *device)
{
	struct net *net = NULL;
	__u32 netns = 0;

	xway_read(net, device->nd_net.net);
	xway_read(netns, net->ns.inum);
	return netns;
}

#endif
