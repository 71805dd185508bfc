// SPDX-License-Identifier: Dual MIT/GPL
/*
 * route with the translations of the stack (conntrack.h).
 *
 * An object of its own, because a program that calls kernel functions or reads the kernel's types,
 * even where it never gets there, needs their names and types when it is loaded, and a kernel that
 * has them.
 */
#define ROUTE_CONNTRACK 1
#include "route.bpf.c"
