/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Metadata of a packet, stored before its first byte for the socket that receives it.
 *
 * Rule: the device is queried first, if the program is bound to one. What it does not report is
 * determined in software if possible (the time, a tag in the packet), and marked accordingly. Only
 * packets that go to a socket get metadata: before others it would prevent the stack from merging
 * them.
 */
#ifndef XWAY_REDIRECT_METADATA_H
#define XWAY_REDIRECT_METADATA_H

#define REDIRECT_DEVICE extern __attribute__((section(".ksyms")))

/* Linux 6.3. */
REDIRECT_DEVICE int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, __u64 *timestamp_ns);
REDIRECT_DEVICE int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash,
					     __u32 *type);
/* Linux 6.8. */
REDIRECT_DEVICE int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *proto,
						 __u16 *tci);

const volatile struct redirect_metadata redirect_unknown = { .magic = REDIRECT_METADATA_MAGIC };

xway_inline void redirect_ask_device(struct xdp_md *ctx, struct redirect_metadata *known)
{
	__u32 type = 0;
	__u64 timestamp_ns = 0;
	__be16 proto = 0;
	__u16 tci = 0;
	__u32 hash = 0;

	/* Some devices report success with a time of 0. */
	if (!bpf_xdp_metadata_rx_timestamp(ctx, &timestamp_ns) && timestamp_ns) {
		known->timestamp_ns = timestamp_ns;
		known->valid |= REDIRECT_METADATA_TIMESTAMP;
	}
	if (!bpf_xdp_metadata_rx_hash(ctx, &hash, &type)) {
		known->hash = hash;
		known->hash_type = type;
		known->valid |= REDIRECT_METADATA_HASH;
	}
	if (!bpf_xdp_metadata_rx_vlan_tag(ctx, &proto, &tci)) {
		known->vlan_tci = tci;
		known->vlan_proto = xway_ntohs(proto);
		known->valid |= REDIRECT_METADATA_VLAN;
	}
}

/* Adds the metadata that the device did not report. */
xway_inline void redirect_make_up(struct xdp_md *ctx, struct redirect_metadata *known)
{
	struct ethhdr *eth = xway_data(ctx);
	struct xway_vlan *tag = (void *)(eth + 1);

	if (!(known->valid & REDIRECT_METADATA_TIMESTAMP)) {
		known->timestamp_ns = bpf_ktime_get_ns();
		known->valid |= REDIRECT_METADATA_TIMESTAMP |
				REDIRECT_METADATA_SOFTWARE_TIMESTAMP;
	}
	if (known->valid & REDIRECT_METADATA_VLAN || (void *)(tag + 1) > xway_data_end(ctx))
		return;
	if (xway_is_tag(xway_eth_type(eth))) {
		known->vlan_tci = xway_ntohs(tag->control);
		known->vlan_proto = xway_ntohs(xway_eth_type(eth));
		known->valid |= REDIRECT_METADATA_VLAN | REDIRECT_METADATA_VLAN_INSIDE;
	}
}

/* Stores the metadata. If the driver leaves no headroom, the packet is delivered without it. */
xway_inline void redirect_annotate(struct xdp_md *ctx, int bound)
{
	struct redirect_metadata known = redirect_unknown;
	struct redirect_metadata *front;

	if (bound)
		redirect_ask_device(ctx, &known);
	redirect_make_up(ctx, &known);
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(known)))
		return;
	front = (void *)(unsigned long)ctx->data_meta;
	if ((void *)(front + 1) <= xway_data(ctx))
		*front = known;
}

#endif
