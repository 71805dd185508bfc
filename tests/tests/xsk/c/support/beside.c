/*
 * Two sockets on one queue with one memory, each with a rule of its own: both wait for a packet,
 * then each frame is forwarded by the other socket. Ends with 0 if each got its own. Argument: an
 * interface.
 */
#include <stdio.h>
#include <xway_xsk.h>

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, xway_xsk_error());
	return 2;
}

static struct xway_xsk_interface *open_for(const char *name, const char *rule)
{
	struct xway_xsk_interface_options options;
	struct xway_xsk_interface *interface = NULL;

	xway_xsk_interface_options_init(&options, sizeof(options));
	options.steer = XWAY_XSK_STEER_RULES;
	options.rules = &rule;
	options.rules_count = 1;
	if (xway_xsk_interface_open(name, &options, &interface) < 0)
		return NULL;
	return interface;
}

int main(int argc, char **argv)
{
	struct xway_xsk_socket_options options;
	struct xway_xsk_interface *interfaces[2];
	struct xway_xsk_frame frames[2];
	struct xway_xsk_tx *tx[2];
	struct xway_xsk_rx *rx[2];
	int i;

	if (argc != 2)
		return 2;
	xway_xsk_socket_options_init(&options, sizeof(options));
	options.shareable = 1;
	interfaces[0] = open_for(argv[1], "ethertype 0x88b5");
	interfaces[1] = open_for(argv[1], "ethertype 0x88b6");
	if (!interfaces[0] || !interfaces[1])
		return failed(argv[1]);
	if (xway_xsk_socket_open(interfaces[0], 0, NULL, &options, &tx[0], &rx[0]) < 0)
		return failed("first");
	if (xway_xsk_socket_open_beside(interfaces[1], tx[0], &options, &tx[1], &rx[1]) < 0)
		return failed("second");
	for (i = 0; i < 2; i++) {
		if (xway_xsk_rx_take(rx[i], &frames[i], 1, 10000) != 1)
			return failed("take");
		if (frames[i].data[13] != 0xb5 + i)
			return 1;
	}
	for (i = 0; i < 2; i++)
		if (xway_xsk_tx_submit(tx[i], &frames[1 - i], 1) != 1)
			return failed("submit");
	for (i = 0; i < 2; i++) {
		if (xway_xsk_tx_drain(tx[i], 10000) != 0)
			return failed("drain");
		xway_xsk_interface_close(interfaces[i]);
		xway_xsk_rx_close(rx[i]);
	}
	return xway_xsk_tx_close(tx[0]) || xway_xsk_tx_close(tx[1]);
}
