#include <xway/bpf.h>
SEC("xdp") int xway_drop(struct xdp_md *ctx) { (void)ctx; return XDP_PASS; }
char xway_license[] SEC("license") = "Dual MIT/GPL";
