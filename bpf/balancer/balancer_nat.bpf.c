// SPDX-License-Identifier: Dual MIT/GPL
/*
 * balancer with address translation (nat.h).
 *
 * An object of its own, so that a balancer without translation neither pays for it nor has it
 * verified.
 */
#define BALANCER_NATS 1
#include "balancer.bpf.c"
