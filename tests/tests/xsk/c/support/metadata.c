/*
 * Sends one UDP packet whose checksum and launch time are requested from the device, which in copy
 * mode is the kernel; and waits for its echo, whose receive time is reported. Ends with 0 if both
 * were reported. Argument: an interface.
 */
#include <stdio.h>
#include <string.h>
#include <xway_xsk.h>

#define NUMBER 7

/* Ethernet, IPv4 and UDP headers, and two bytes; the UDP checksum is 0. */
static const unsigned char packet[] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 0,
	0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0x66, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2,
	0x10, 0, 0x20, 0, 0, 10, 0, 0, 'h', 'i',
};

static struct xway_xsk_tx *tx;
static struct xway_xsk_rx *rx;

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, xway_xsk_error());
	return 2;
}

static int open_all(const char *name)
{
	struct xway_xsk_interface_options interface_options;
	struct xway_xsk_umem_options umem_options;
	struct xway_xsk_interface *interface;
	struct xway_xsk_umem *umem;

	xway_xsk_interface_options_init(&interface_options, sizeof(interface_options));
	interface_options.rx_metadata = 1;
	xway_xsk_umem_options_init(&umem_options, sizeof(umem_options));
	umem_options.transmit_metadata = 1;
	umem_options.software_checksum = 1;
	if (xway_xsk_interface_open(name, &interface_options, &interface) < 0 ||
	    xway_xsk_umem_open(&umem_options, &umem) < 0 ||
	    xway_xsk_socket_open(interface, 0, umem, NULL, &tx, &rx) < 0)
		return -1;
	xway_xsk_interface_close(interface);
	xway_xsk_umem_close(umem);
	return 0;
}

static int send_asking(void)
{
	struct xway_xsk_frame frame;

	if (xway_xsk_tx_reserve(tx, &frame, 1) != 1)
		return -1;
	memcpy(frame.data, packet, sizeof(packet));
	frame.len = sizeof(packet);
	if (xway_xsk_tx_request_checksum(tx, &frame, 0, 0) < 0 ||
	    xway_xsk_tx_request_time(tx, &frame, NUMBER) < 0)
		return -1;
	return xway_xsk_tx_submit(tx, &frame, 1) == 1 ? 0 : -1;
}

/* Answers 1 if the echo came, and what is known of it. */
static int receive(struct xway_xsk_received *received)
{
	struct xway_xsk_frame frame;
	int known = 0, is_echo = 0;

	while (!is_echo) {
		if (xway_xsk_rx_take(rx, &frame, 1, 10000) != 1)
			return -1;
		is_echo = frame.len == sizeof(packet) && frame.data[frame.len - 1] == 'i';
		known = xway_xsk_rx_received(rx, &frame, received);
		if (xway_xsk_rx_release(rx, &frame, 1) != 1)
			return -1;
	}
	return known;
}

int main(int argc, char **argv)
{
	struct xway_xsk_received received = { .size = sizeof(received) };
	struct xway_xsk_sent_at sent;

	if (argc != 2 || open_all(argv[1]) < 0)
		return failed("open");
	if (send_asking() < 0)
		return failed("send");
	if (xway_xsk_tx_drain(tx, 10000) != 0 || xway_xsk_tx_sent_at(tx, &sent, 1) != 1)
		return failed("time of sending");
	if (receive(&received) != 1)
		return failed("what is known");
	printf("number %d, %s, %s\n", (int)sent.number, sent.time_ns ? "sent" : "no time",
	       received.known & XWAY_XSK_KNOWN_TIME && received.time_ns ? "received" : "no time");
	xway_xsk_tx_close(tx);
	xway_xsk_rx_close(rx);
	return 0;
}
