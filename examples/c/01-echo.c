/*
 * Sends packets back to where they came from, without a copy, until a number is reached. Needs
 * root, or CAP_NET_ADMIN, CAP_BPF and CAP_NET_RAW.
 *
 *	cc 01-echo.c $(pkg-config --cflags --libs xway_xsk)
 *	./a.out eth0 0 "ethertype 0x88b5" 1000
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xway_xsk.h>

#define BATCH 64

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, xway_xsk_error());
	return 2;
}

static void swap_addresses(unsigned char *packet)
{
	unsigned char source[6];

	memcpy(source, packet + 6, 6);
	memcpy(packet + 6, packet, 6);
	memcpy(packet, source, 6);
}

/* Answers how many were sent, or a negative number. */
static int echo(struct xway_xsk_tx *tx, struct xway_xsk_rx *rx)
{
	struct xway_xsk_frame frames[BATCH];
	int i, sent, taken = xway_xsk_rx_take(rx, frames, BATCH, 10000);

	if (taken <= 0)
		return taken;
	for (i = 0; i < taken; i++)
		swap_addresses(frames[i].data);
	sent = xway_xsk_tx_submit(tx, frames, taken);
	if (sent < 0)
		return sent;
	/* What found no room is lost, as in any network. */
	if (xway_xsk_rx_release(rx, frames + sent, taken - sent) < 0)
		return -1;
	return sent;
}

int main(int argc, char **argv)
{
	struct xway_xsk_interface_options options;
	struct xway_xsk_interface *interface;
	struct xway_xsk_tx *tx;
	struct xway_xsk_rx *rx;
	int sent, total = 0;

	if (argc != 5) {
		fprintf(stderr, "usage: %s INTERFACE QUEUE RULE COUNT\n", argv[0]);
		return 2;
	}
	xway_xsk_interface_options_init(&options, sizeof(options));
	options.steer = XWAY_XSK_STEER_RULES;
	options.rules = (const char *const *)&argv[3];
	options.rules_count = 1;
	if (xway_xsk_interface_open(argv[1], &options, &interface) < 0)
		return failed(argv[1]);
	if (xway_xsk_socket_open(interface, atoi(argv[2]), NULL, NULL, &tx, &rx) < 0)
		return failed("socket");
	while (total < atoi(argv[4])) {
		sent = echo(tx, rx);
		if (sent < 0)
			return failed("echo");
		if (sent == 0)
			break;
		total += sent;
	}
	xway_xsk_tx_drain(tx, 1000);
	printf("echoed %d packets\n", total);

	xway_xsk_tx_close(tx);
	xway_xsk_rx_close(rx);
	xway_xsk_interface_close(interface);
	return 0;
}
