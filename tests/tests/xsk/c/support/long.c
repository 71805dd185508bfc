/*
 * Sends one packet of two frames and waits for its echo, with parts wherever the kernel makes them.
 * Ends with 0 if every byte came back. Argument: an interface.
 */
#include <stdio.h>
#include <string.h>
#include <xway_xsk.h>

#define HALF 1800
#define PARTS 8

static struct xway_xsk_umem *umem;
static struct xway_xsk_tx *tx;
static struct xway_xsk_rx *rx;

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, xway_xsk_error());
	return 2;
}

static unsigned char byte_at(unsigned int at)
{
	static const unsigned char header[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5,
	};

	return at < sizeof(header) ? header[at] : at * 7 + at / 256;
}

static int open_all(const char *name)
{
	struct xway_xsk_socket_options options;
	struct xway_xsk_interface *interface;

	xway_xsk_socket_options_init(&options, sizeof(options));
	options.multi_buffer = 1;
	if (xway_xsk_interface_open(name, NULL, &interface) < 0 ||
	    xway_xsk_umem_open(NULL, &umem) < 0 ||
	    xway_xsk_socket_open(interface, 0, umem, &options, &tx, &rx) < 0)
		return -1;
	return xway_xsk_interface_close(interface);
}

static int send_long(void)
{
	struct xway_xsk_frame frames[2];
	unsigned int half, at;

	if (xway_xsk_tx_reserve(tx, frames, 2) != 2)
		return -1;
	for (half = 0; half < 2; half++) {
		for (at = 0; at < HALF; at++)
			frames[half].data[at] = byte_at(half * HALF + at);
		frames[half].len = HALF;
	}
	if (xway_xsk_umem_append(umem, &frames[0], &frames[1]) < 0)
		return -1;
	if (frames[0].more != 1 || frames[1].data)
		return -1;
	return xway_xsk_tx_submit(tx, frames, 1) == 1 ? 0 : -1;
}

/* Answers how many bytes of the packet are as they were sent. */
static unsigned int compare(const struct xway_xsk_frame *frame)
{
	struct xway_xsk_packet parts[PARTS];
	unsigned int at = 0;
	int part, count = xway_xsk_umem_parts(umem, frame, parts, PARTS);
	size_t inner;

	if (count != (int)frame->more + 1 || count > PARTS)
		return 0;
	for (part = 0; part < count; part++)
		for (inner = 0; inner < parts[part].len; inner++, at++)
			if (((unsigned char *)parts[part].data)[inner] != byte_at(at))
				return at;
	return at;
}

int main(int argc, char **argv)
{
	struct xway_xsk_frame frame;
	unsigned int same = 0;

	if (argc != 2 || open_all(argv[1]) < 0)
		return failed("open");
	if (send_long() < 0)
		return failed("send");
	while (same != 2 * HALF) {
		if (xway_xsk_rx_take(rx, &frame, 1, 10000) != 1)
			return failed("receive");
		same = frame.more ? compare(&frame) : 0;
		if (xway_xsk_rx_release(rx, &frame, 1) != 1)
			return failed("release");
	}
	printf("%u bytes\n", same);
	xway_xsk_tx_close(tx);
	xway_xsk_rx_close(rx);
	xway_xsk_umem_close(umem);
	return 0;
}
