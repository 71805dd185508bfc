/*
 * Receives ten packets, then sends ten. Needs root, or CAP_NET_ADMIN, CAP_BPF and CAP_NET_RAW.
 *
 *	cc 02-receive-ten-send-ten.c $(pkg-config --cflags --libs xway_xsk)
 *	./a.out eth0 0 "ethertype 0x88b5"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xway_xsk.h>

#define TEN 10

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, xway_xsk_error());
	return 2;
}

int main(int argc, char **argv)
{
	struct xway_xsk_interface_options options;
	struct xway_xsk_interface *interface;
	struct xway_xsk_tx *tx;
	struct xway_xsk_rx *rx;
	unsigned char packet[2048];
	int i, len;

	if (argc != 4) {
		fprintf(stderr, "usage: %s INTERFACE QUEUE RULE\n", argv[0]);
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

	for (i = 0; i < TEN; i++) {
		len = xway_xsk_recv(rx, packet, sizeof(packet), 10000);
		if (len < 0)
			return failed("receive");
		if (len == 0) {
			fprintf(stderr, "no packet in ten seconds\n");
			return 1;
		}
		printf("received %d bytes\n", len);
	}

	memset(packet, 0, 60);
	memset(packet, 0xff, 6);	/* to everybody */
	packet[6] = 2;			/* from an address of our own */
	packet[12] = 0x88;		/* a protocol for experiments */
	packet[13] = 0xb5;
	for (i = 0; i < TEN; i++) {
		packet[14] = i;
		if (xway_xsk_send(tx, packet, 60) < 0)
			return failed("send");
	}
	if (xway_xsk_tx_drain(tx, 1000) < 0)
		return failed("drain");
	printf("sent %d packets\n", TEN);

	xway_xsk_tx_close(tx);
	xway_xsk_rx_close(rx);
	xway_xsk_interface_close(interface);
	return 0;
}
