/*
 * Every call of the library with what it must refuse: nothing, strangers, handles and frames that
 * are closed or given away, options that make no sense. Ends with 0 if each answered what is
 * written here. Arguments: an interface.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <xway_xsk.h>

#define ARGUMENT XWAY_XSK_ERROR_ARGUMENT
#define HANDLE XWAY_XSK_ERROR_HANDLE
#define CONFIG XWAY_XSK_ERROR_CONFIG
#define IS(expected, call) is(__LINE__, #call, expected, call)

static int wrong;

static void is(int line, const char *call, int expected, int answer)
{
	if (answer < 0 && strlen(xway_xsk_error()) == 0) {
		fprintf(stderr, "misuse.c:%d: %s says nothing\n", line, call);
		wrong++;
	}
	if (answer == expected)
		return;
	fprintf(stderr, "misuse.c:%d: %s is %d, not %d: %s\n", line, call, answer, expected,
		xway_xsk_error());
	wrong++;
}

static void opening_with_nothing(const char *name)
{
	struct xway_xsk_interface *interface;
	struct xway_xsk_tx *tx;
	struct xway_xsk_rx *rx;

	IS(ARGUMENT, xway_xsk_umem_open(NULL, NULL));
	IS(ARGUMENT, xway_xsk_interface_open(NULL, NULL, &interface));
	IS(ARGUMENT, xway_xsk_interface_open(name, NULL, NULL));
	IS(ARGUMENT, xway_xsk_interface_open("\xff", NULL, &interface));
	IS(XWAY_XSK_ERROR_INTERFACE, xway_xsk_interface_open("nowhere", NULL, &interface));
	IS(ARGUMENT, xway_xsk_socket_open(NULL, 0, NULL, NULL, &tx, &rx));
	IS(ARGUMENT, xway_xsk_socket_open_beside(NULL, NULL, NULL, &tx, &rx));
	IS(ARGUMENT, xway_xsk_umem_options_init(NULL, sizeof(struct xway_xsk_umem_options)));
	IS(ARGUMENT, xway_xsk_interface_options_init(NULL, 40));
	IS(ARGUMENT, xway_xsk_socket_options_init(NULL, 64));
	IS(ARGUMENT, xway_xsk_rule_check(NULL));
	IS(ARGUMENT, xway_xsk_rule_check(""));
	IS(ARGUMENT, xway_xsk_rule_check("10.1.0.2 icmp 80"));
	IS(0, xway_xsk_rule_check("10.1.0.2 udp 1234"));
}

/* Handles that were never returned: NULL is an argument, all others are invalid handles. */
static void strangers(void *handle, int expected)
{
	struct xway_xsk_frame frame;
	struct xway_xsk_packet packet = { &frame, sizeof(frame) };
	struct xway_xsk_umem_info umem_info = { .size = sizeof(umem_info) };
	struct xway_xsk_interface_info interface_info = { .size = sizeof(interface_info) };
	struct xway_xsk_tx_stats tx_stats = { .size = sizeof(tx_stats) };
	struct xway_xsk_rx_stats rx_stats = { .size = sizeof(rx_stats) };
	struct xway_xsk_received received = { .size = sizeof(received) };
	struct xway_xsk_sent_at time;
	struct xway_xsk_umem *umem;

	memset(&frame, 0, sizeof(frame));
	IS(expected, xway_xsk_umem_close(handle));
	IS(expected, xway_xsk_umem_info(handle, &umem_info));
	IS(expected, xway_xsk_umem_reserve(handle, &frame, 1));
	IS(expected, xway_xsk_umem_release(handle, &frame, 1));
	IS(expected, xway_xsk_umem_append(handle, &frame, &frame));
	IS(expected, xway_xsk_umem_parts(handle, &frame, &packet, 1));
	IS(expected, xway_xsk_interface_close(handle));
	IS(expected, xway_xsk_interface_info(handle, &interface_info));
	IS(expected, xway_xsk_tx_close(handle));
	IS(expected, xway_xsk_tx_umem(handle, &umem));
	IS(expected, xway_xsk_send(handle, &frame, sizeof(frame)));
	IS(expected, xway_xsk_send_batch(handle, &packet, 1));
	IS(expected, xway_xsk_tx_reserve(handle, &frame, 1));
	IS(expected, xway_xsk_tx_submit(handle, &frame, 1));
	IS(expected, xway_xsk_tx_release(handle, &frame, 1));
	IS(expected, xway_xsk_tx_request_checksum(handle, &frame, 0, 0));
	IS(expected, xway_xsk_tx_request_time(handle, &frame, 1));
	IS(expected, xway_xsk_tx_request_launch(handle, &frame, 1));
	IS(expected, xway_xsk_tx_sent_at(handle, &time, 1));
	IS(expected, xway_xsk_tx_flush(handle));
	IS(expected, xway_xsk_tx_drain(handle, -1));
	IS(expected, xway_xsk_tx_wait(handle, -1));
	IS(expected, xway_xsk_tx_fd(handle));
	IS(expected, xway_xsk_tx_is_zero_copy(handle));
	IS(expected, xway_xsk_tx_stats(handle, &tx_stats));
	IS(expected, xway_xsk_rx_close(handle));
	IS(expected, xway_xsk_rx_umem(handle, &umem));
	IS(expected, xway_xsk_recv(handle, &frame, sizeof(frame), -1));
	IS(expected, xway_xsk_recv_batch(handle, &packet, 1, -1));
	IS(expected, xway_xsk_rx_take(handle, &frame, 1, -1));
	IS(expected, xway_xsk_rx_received(handle, &frame, &received));
	IS(expected, xway_xsk_rx_release(handle, &frame, 1));
	IS(expected, xway_xsk_rx_wait(handle, -1));
	IS(expected, xway_xsk_rx_fd(handle));
	IS(expected, xway_xsk_rx_stats(handle, &rx_stats));
}

static void options_without_sense(const char *name)
{
	struct xway_xsk_umem_options umem;
	struct xway_xsk_interface_options interface;
	struct xway_xsk_umem *made;
	struct xway_xsk_interface *opened;
	const char *rules[] = { "any udp 53 drop", NULL };
	struct {
		struct xway_xsk_umem_options known;
		unsigned int newer;
	} later;

	IS(ARGUMENT, xway_xsk_umem_options_init(&umem, 1));
	IS(ARGUMENT, xway_xsk_umem_options_init(&umem, 1 << 20));
	memset(&umem, 0, sizeof(umem));
	IS(ARGUMENT, xway_xsk_umem_open(&umem, &made));
#define UMEM(field, value, expected) \
	xway_xsk_umem_options_init(&umem, sizeof(umem)); \
	umem.field = value; \
	IS(expected, xway_xsk_umem_open(&umem, &made))
	UMEM(frames, 0, CONFIG);
	UMEM(frames, 1u << 31, CONFIG);
	UMEM(frame_size, 2049, CONFIG);
	UMEM(frame_size, 1024, CONFIG);
	UMEM(headroom, 2048, CONFIG);
	UMEM(headroom, ~0u, CONFIG);
	UMEM(huge_pages, 3, ARGUMENT);
	UMEM(numa_node, -2, ARGUMENT);
	IS(0, xway_xsk_umem_options_init(&later.known, sizeof(later)));
	later.newer = 1;
	IS(ARGUMENT, xway_xsk_umem_open(&later.known, &made));
	later.newer = 0;
	IS(0, xway_xsk_umem_open(&later.known, &made));
	IS(0, xway_xsk_umem_close(made));
	IS(HANDLE, xway_xsk_umem_close(made));
#define INTERFACE(field, value, expected) \
	interface.field = value; \
	IS(expected, xway_xsk_interface_open(name, &interface, &opened))
	xway_xsk_interface_options_init(&interface, sizeof(interface));
	INTERFACE(steer, 3, ARGUMENT);
	INTERFACE(steer, XWAY_XSK_STEER_RULES, CONFIG);
	INTERFACE(rules_count, 1, ARGUMENT);
	INTERFACE(rules, rules, ARGUMENT);
	rules[0] = "any udp 53";
	INTERFACE(rules_count, 2, ARGUMENT);
	INTERFACE(rules_count, ~0u, ARGUMENT);
	rules[1] = rules[0];
	INTERFACE(steer, XWAY_XSK_STEER_ALL, ARGUMENT);
	INTERFACE(mode, 3, ARGUMENT);
}

static void sockets_without_sense(struct xway_xsk_interface *interface, struct xway_xsk_umem *umem)
{
	struct xway_xsk_socket_options options;
	struct xway_xsk_tx *tx;
	struct xway_xsk_rx *rx;

#define SOCKET(field, value, expected) \
	xway_xsk_socket_options_init(&options, sizeof(options)); \
	options.field = value; \
	IS(expected, xway_xsk_socket_open(interface, 0, umem, &options, &tx, &rx))
	SOCKET(size, 3, ARGUMENT);
	SOCKET(mode, 3, ARGUMENT);
	SOCKET(mode, XWAY_XSK_MODE_ZERO_COPY, XWAY_XSK_ERROR_INTERFACE);
	SOCKET(rings, 1000, CONFIG);
	SOCKET(rings, 0, CONFIG);
	SOCKET(fill, ~0u, CONFIG);
	SOCKET(batch, 0, CONFIG);
	SOCKET(wait, 4, ARGUMENT);
	SOCKET(wait, XWAY_XSK_WAIT_BUSY, CONFIG);
	IS(ARGUMENT, xway_xsk_socket_open(interface, 0, umem, NULL, NULL, &rx));
	IS(ARGUMENT, xway_xsk_socket_open(interface, 0, umem, NULL, &tx, NULL));
	IS(XWAY_XSK_ERROR_INTERFACE, xway_xsk_socket_open(interface, 99, umem, NULL, &tx, &rx));
}

static void memory_of_nobody(struct xway_xsk_tx *tx, struct xway_xsk_rx *rx,
			     struct xway_xsk_umem *umem)
{
	struct xway_xsk_packet packets[2] = { { NULL, 60 }, { NULL, 60 } };
	unsigned char bytes[9000] = { 0 };
	struct xway_xsk_packet good = { bytes, 60 };

	IS(ARGUMENT, xway_xsk_send(tx, NULL, 60));
	IS(ARGUMENT, xway_xsk_send(tx, bytes, 0));
	IS(ARGUMENT, xway_xsk_send(tx, bytes, ~(size_t)0));
	IS(XWAY_XSK_ERROR_TOO_LONG, xway_xsk_send(tx, bytes, sizeof(bytes)));
	IS(ARGUMENT, xway_xsk_send_batch(tx, NULL, 1));
	IS(ARGUMENT, xway_xsk_send_batch(tx, packets, 2));
	IS(ARGUMENT, xway_xsk_send_batch(tx, packets, ~0u));
	IS(ARGUMENT, xway_xsk_send_batch(tx, (void *)((char *)packets + 1), 1));
	IS(0, xway_xsk_send_batch(tx, NULL, 0));
	packets[0] = good;
	IS(1, xway_xsk_send_batch(tx, packets, 2));
	IS(ARGUMENT, xway_xsk_tx_reserve(tx, NULL, 1));
	IS(0, xway_xsk_tx_reserve(tx, NULL, 0));
	IS(ARGUMENT, xway_xsk_tx_submit(tx, NULL, 1));
	IS(ARGUMENT, xway_xsk_tx_release(tx, NULL, 1));
	IS(ARGUMENT, xway_xsk_tx_stats(tx, NULL));
	IS(ARGUMENT, xway_xsk_tx_request_checksum(tx, NULL, 0, 0));
	IS(ARGUMENT, xway_xsk_tx_request_time(tx, NULL, 0));
	IS(ARGUMENT, xway_xsk_tx_request_launch(tx, NULL, 0));
	IS(ARGUMENT, xway_xsk_tx_sent_at(tx, NULL, 1));
	IS(0, xway_xsk_tx_sent_at(tx, NULL, 0));
	IS(ARGUMENT, xway_xsk_rx_received(rx, NULL, NULL));
	IS(ARGUMENT, xway_xsk_tx_umem(tx, NULL));
	IS(ARGUMENT, xway_xsk_recv(rx, NULL, 60, 0));
	IS(ARGUMENT, xway_xsk_recv_batch(rx, NULL, 1, 0));
	IS(ARGUMENT, xway_xsk_recv_batch(rx, packets, 2, 0));
	IS(0, xway_xsk_recv_batch(rx, NULL, 0, -1));
	IS(ARGUMENT, xway_xsk_rx_take(rx, NULL, 1, 0));
	IS(0, xway_xsk_rx_take(rx, NULL, 0, -1));
	IS(ARGUMENT, xway_xsk_rx_release(rx, NULL, 1));
	IS(ARGUMENT, xway_xsk_rx_stats(rx, NULL));
	IS(ARGUMENT, xway_xsk_rx_umem(rx, NULL));
	IS(ARGUMENT, xway_xsk_umem_info(umem, NULL));
	IS(ARGUMENT, xway_xsk_umem_reserve(umem, NULL, 1));
	IS(ARGUMENT, xway_xsk_umem_append(umem, NULL, NULL));
	IS(ARGUMENT, xway_xsk_umem_parts(umem, NULL, NULL, 0));
}

static void frames_of_nobody(struct xway_xsk_tx *tx, struct xway_xsk_rx *rx,
			     struct xway_xsk_umem *umem, struct xway_xsk_umem *other)
{
	struct xway_xsk_frame frames[4], copy, foreign;
	struct xway_xsk_packet parts[2];

	memset(frames, 0x5a, sizeof(frames));
	IS(HANDLE, xway_xsk_tx_submit(tx, frames, 4));
	IS(HANDLE, xway_xsk_rx_release(rx, frames, 4));
	IS(3, xway_xsk_tx_reserve(tx, frames, 3));
	copy = frames[0];
	frames[0].len = frames[0].capacity + 1;
	IS(ARGUMENT, xway_xsk_tx_submit(tx, frames, 1));
	frames[0].len = 0;
	IS(ARGUMENT, xway_xsk_tx_submit(tx, frames, 1));
	frames[0].len = 60;
	frames[0].data = copy.data + copy.capacity + 1;
	IS(ARGUMENT, xway_xsk_tx_submit(tx, frames, 1));
	frames[0].data = NULL;
	IS(ARGUMENT, xway_xsk_tx_submit(tx, frames, 1));
	frames[0].data = (unsigned char *)&frames;
	IS(ARGUMENT, xway_xsk_tx_submit(tx, frames, 1));
	frames[0].data = copy.data;
	memset(frames[0].data, 0, 60);
	IS(HANDLE, xway_xsk_umem_append(umem, &frames[0], &copy));
	IS(HANDLE, xway_xsk_umem_append(umem, &frames[0], &frames[0]));
	IS(1, xway_xsk_umem_parts(umem, &frames[0], parts, 2));
	IS(ARGUMENT, xway_xsk_tx_request_checksum(tx, &frames[0], 0, 0));
	IS(ARGUMENT, xway_xsk_tx_request_checksum(tx, &frames[0], 1 << 16, 0));
	IS(CONFIG, xway_xsk_tx_request_checksum(tx, &frames[0], 34, 6));
	IS(CONFIG, xway_xsk_tx_request_time(tx, &frames[0], 1));
	IS(ARGUMENT, xway_xsk_rx_received(rx, &frames[0], NULL));
	IS(1, xway_xsk_tx_submit(tx, frames, 1));
	is(__LINE__, "a frame that was sent is empty", 1, frames[0].data == NULL);
	IS(HANDLE, xway_xsk_tx_submit(tx, &copy, 1));
	IS(HANDLE, xway_xsk_umem_parts(umem, &copy, parts, 2));
	IS(HANDLE, xway_xsk_tx_submit(tx, frames, 1));
	copy = frames[1];
	IS(1, xway_xsk_rx_release(rx, &frames[1], 1));
	IS(HANDLE, xway_xsk_umem_release(umem, &copy, 1));
	IS(1, xway_xsk_umem_reserve(other, &foreign, 1));
	IS(HANDLE, xway_xsk_tx_submit(tx, &foreign, 1));
	IS(HANDLE, xway_xsk_umem_append(umem, &frames[2], &foreign));
	IS(1, xway_xsk_umem_release(other, &foreign, 1));
	/* One frame is forgotten: it comes home with the last handle. */
}

struct shared {
	struct xway_xsk_rx *rx;
	int stop;
	int in_use;
};

/* Enters a call that waits, until stopped. */
static void *waits(void *arg)
{
	struct shared *shared = arg;

	while (!__atomic_load_n(&shared->stop, __ATOMIC_SEQ_CST))
		xway_xsk_rx_wait(shared->rx, 100);
	return NULL;
}

static void two_threads(struct xway_xsk_rx *rx)
{
	struct shared shared = { rx, 0, 0 };
	pthread_t thread;
	int tries;

	pthread_create(&thread, NULL, waits, &shared);
	for (tries = 0; tries < 100000000 && !shared.in_use; tries++)
		shared.in_use = xway_xsk_rx_fd(rx) == XWAY_XSK_ERROR_IN_USE;
	is(__LINE__, "a second thread is told", 1, shared.in_use);
	__atomic_store_n(&shared.stop, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct xway_xsk_interface *interface;
	struct xway_xsk_umem *umem, *other;
	struct xway_xsk_tx *tx;
	struct xway_xsk_rx *rx;
	int on_the_stack;

	if (argc != 2 || strcmp(xway_xsk_version(), XWAY_XSK_VERSION) != 0)
		return 2;
	is(__LINE__, "nothing failed yet", 0, (int)strlen(xway_xsk_error()));
	opening_with_nothing(argv[1]);
	options_without_sense(argv[1]);
	strangers(NULL, ARGUMENT);
	strangers(&on_the_stack, HANDLE);
	strangers((void *)0x100000053, HANDLE);
	strangers((void *)~(size_t)0, HANDLE);

	IS(0, xway_xsk_interface_open(argv[1], NULL, &interface));
	IS(0, xway_xsk_umem_open(NULL, &umem));
	IS(0, xway_xsk_umem_open(NULL, &other));
	sockets_without_sense(interface, umem);
	IS(0, xway_xsk_socket_open(interface, 0, umem, NULL, &tx, &rx));
	IS(ARGUMENT, xway_xsk_socket_open_beside(interface, tx, NULL, &tx, &rx));
	memory_of_nobody(tx, rx, umem);
	frames_of_nobody(tx, rx, umem, other);
	two_threads(rx);

	IS(HANDLE, xway_xsk_tx_close((void *)rx));
	IS(0, xway_xsk_interface_close(interface));
	IS(0, xway_xsk_umem_close(umem));
	IS(0, xway_xsk_umem_close(other));
	IS(0, xway_xsk_tx_close(tx));
	IS(0, xway_xsk_rx_close(rx));
	strangers(tx, HANDLE);
	strangers(rx, HANDLE);
	strangers(umem, HANDLE);
	strangers(interface, HANDLE);
	is(__LINE__, "an unknown code has a text", 1, strlen(xway_xsk_strerror(-999)) > 0);
	is(__LINE__, "no call of the kernel failed last", 0, xway_xsk_errno());
	return wrong > 0;
}
