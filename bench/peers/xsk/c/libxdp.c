/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libxdp's C API (xsk.h) in the roles and the words of the other peers; see src/options.rs,
 * src/report.rs and src/roles.rs. One loop for each role, as libxdp's users write them: free frames
 * on a stack, a kick after each batch, poll(2) when nothing has come.
 *
 * With the word --budget before the role, the kernel is requested to send a whole batch for each
 * kick (XDP_MAX_TX_SKB_BUDGET, Linux 6.17); the library itself does not know the option.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_xdp.h>
#include <linux/types.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <xdp/xsk.h>

#define RING 2048
#define CHUNK 2048
#define FRAMES 4096
#define BATCH_MAX 1024
#define NUMBER 42
#define TURNS 16
#define NS 1000000000ull
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#define MAX_TX_SKB_BUDGET 9

struct options {
	const char *role, *dev, *out_dev;
	int queue, map, out_map;
	double seconds;
	unsigned size, batch;
	bool spin, budget;
};

struct pool {
	unsigned char *bytes;
	struct xsk_umem *umem;
	struct xsk_ring_prod fill;
	struct xsk_ring_cons done;
	__u64 free[FRAMES];
	unsigned count;
};

struct port {
	struct pool *pool;
	struct xsk_socket *socket;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod tx;
	/* The pool's for its first port, else the port's own. */
	struct xsk_ring_prod *fill, own_fill;
	struct xsk_ring_cons *done, own_done;
	unsigned flying;
	int fd;
};

struct tracker {
	__u64 received, missing, duplicated, next;
};

struct clock {
	__u64 begin, window;
	struct rusage usage;
};

static struct pool pools[1];

static __attribute__((noreturn)) void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

static __u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS + time.tv_nsec;
}

static int make_pool(struct pool *pool)
{
	struct xsk_umem_config config = {
		.fill_size = RING, .comp_size = RING, .frame_size = CHUNK,
	};

	pool->bytes = mmap(NULL, (size_t)FRAMES * CHUNK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pool->bytes == MAP_FAILED)
		return -errno;
	for (pool->count = 0; pool->count < FRAMES; pool->count++)
		pool->free[pool->count] = (__u64)pool->count * CHUNK;
	return xsk_umem__create(&pool->umem, pool->bytes, (__u64)FRAMES * CHUNK, &pool->fill,
				&pool->done, &config);
}

/* Gives the kernel frames to receive into. */
static void refill(struct port *port, unsigned n)
{
	struct pool *pool = port->pool;
	__u32 at;

	n = xsk_ring_prod__reserve(port->fill, n < pool->count ? n : pool->count, &at);
	for (unsigned i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(port->fill, at + i) = pool->free[--pool->count];
	xsk_ring_prod__submit(port->fill, n);
	if (xsk_ring_prod__needs_wakeup(port->fill))
		recvfrom(port->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

static void steer(int map, int queue, int socket)
{
	int fd;

	if (map < 0)
		return;
	fd = bpf_map_get_fd_by_id(map);
	if (fd < 0)
		fail("bpf(MAP_GET_FD_BY_ID)", errno);
	if (bpf_map_update_elem(fd, &queue, &socket, 0))
		fail("bpf(MAP_UPDATE_ELEM)", errno);
	close(fd);
}

static int try_open(struct port *port, const struct options *options, const char *dev, bool first)
{
	struct xsk_socket_config config = {
		.rx_size = RING, .tx_size = RING,
		.libbpf_flags = XSK_LIBBPF_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP,
	};
	struct pool *pool = port->pool;
	int error;

	port->fill = first ? &pool->fill : &port->own_fill;
	port->done = first ? &pool->done : &port->own_done;
	error = xsk_socket__create_shared(&port->socket, dev, options->queue, pool->umem, &port->rx,
					  &port->tx, port->fill, port->done, &config);
	if (!error)
		port->fd = xsk_socket__fd(port->socket);
	return error;
}

/* The kernel keeps a queue for some milliseconds after its last socket was closed. */
static void open_port(struct port *port, const struct options *options, bool first)
{
	const char *dev = first ? options->dev : options->out_dev;
	__u64 deadline = now() + 2 * NS;
	int budget = options->batch < 32 ? 32 : options->batch;
	int error;

	if (first && (error = make_pool(port->pool)))
		fail("umem", -error);
	while ((error = try_open(port, options, dev, first)) == -EBUSY && now() < deadline)
		usleep(5000);
	if (error)
		fail("socket", -error);
	if (options->budget &&
	    setsockopt(port->fd, SOL_XDP, MAX_TX_SKB_BUDGET, &budget, sizeof(budget)))
		fail("XDP_MAX_TX_SKB_BUDGET", errno);
	if (first)
		refill(port, RING);
	steer(first ? options->map : options->out_map, options->queue, port->fd);
}

/* Takes back what was sent. */
static void reclaim(struct port *port)
{
	struct pool *pool = port->pool;
	__u32 at;
	unsigned n = xsk_ring_cons__peek(port->done, RING, &at);

	for (unsigned i = 0; i < n; i++)
		pool->free[pool->count++] = *xsk_ring_cons__comp_addr(port->done, at + i);
	xsk_ring_cons__release(port->done, n);
	port->flying -= n;
}

static void kick(struct port *port)
{
	if (!xsk_ring_prod__needs_wakeup(&port->tx))
		return;
	if (sendto(port->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
	    errno != EBUSY && errno != ENOBUFS && errno != ENETDOWN)
		fail("sendto", errno);
}

static void wait_for(struct port *port, const struct options *options)
{
	struct pollfd poll_fd = { .fd = port->fd, .events = POLLIN };

	if (!options->spin)
		poll(&poll_fd, 1, 1);
}

static __u64 in_flight(struct port *port)
{
	__u64 deadline = now() + NS / 5;

	for (reclaim(port); port->flying && now() < deadline; reclaim(port))
		kick(port);
	return port->flying;
}

/* The frame of src/frame.rs. */
static void make_frame(unsigned char *frame, unsigned size)
{
	static const unsigned char head[NUMBER] = {
		2, 0x78, 0x77, 0, 1, 2, 2, 0x78, 0x77, 0, 1, 1, 8, 0,
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 1, 10, 0, 1, 2,
		5000 >> 8, 5000 & 0xff, 5000 >> 8, 5000 & 0xff, 0, 0, 0, 0,
	};
	unsigned sum = 0;

	memset(frame, 0, size);
	memcpy(frame, head, sizeof(head));
	frame[16] = (size - 14) >> 8;
	frame[17] = size - 14;
	frame[38] = (size - 34) >> 8;
	frame[39] = size - 34;
	for (unsigned i = 14; i < 34; i += 2)
		sum += frame[i] << 8 | frame[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16));
	frame[24] = sum >> 8;
	frame[25] = sum;
}

static inline void track(struct tracker *tracker, const unsigned char *frame, unsigned length)
{
	__u64 number;

	/* The kernel's own chatter is not counted. */
	if (length < NUMBER + 8 || frame[36] != 5000 >> 8 ||
	    (frame[37] != (5000 & 0xff) && frame[37] != (5001 & 0xff)))
		return;
	memcpy(&number, frame + NUMBER, 8);
	number = __builtin_bswap64(number);
	if (number != tracker->next && tracker->received) {
		if (number < tracker->next) {
			tracker->duplicated++;
			return;
		}
		tracker->missing += number - tracker->next;
	}
	tracker->received++;
	tracker->next = number + 1;
}

static inline void turn(struct tracker *tracker, unsigned char *frame, unsigned length)
{
	unsigned char mac[6];

	track(tracker, frame, length);
	memcpy(mac, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, mac, 6);
}

/* One batch; how many. */
static unsigned send_batch(struct port *port, const struct options *options,
			   const unsigned char *frame, __u64 number)
{
	struct pool *pool = port->pool;
	unsigned n = options->batch;
	__u32 at;

	reclaim(port);
	n = xsk_ring_prod__reserve(&port->tx, n < pool->count ? n : pool->count, &at);
	for (unsigned i = 0; i < n; i++) {
		struct xdp_desc *desc = xsk_ring_prod__tx_desc(&port->tx, at + i);
		__u64 value = __builtin_bswap64(number + i);
		unsigned char *data;

		desc->addr = pool->free[--pool->count];
		desc->len = options->size;
		desc->options = 0;
		data = xsk_umem__get_data(pool->bytes, desc->addr);
		memcpy(data, frame, options->size);
		memcpy(data + NUMBER, &value, 8);
	}
	xsk_ring_prod__submit(&port->tx, n);
	port->flying += n;
	kick(port);
	return n;
}

static unsigned receive_batch(struct port *port, const struct options *options,
			      struct tracker *tracker)
{
	struct pool *pool = port->pool;
	__u32 at;
	unsigned n = xsk_ring_cons__peek(&port->rx, options->batch, &at);

	if (!n)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&port->rx, at + i);

		track(tracker, xsk_umem__get_data(pool->bytes, desc->addr), desc->len);
		pool->free[pool->count++] = desc->addr;
	}
	xsk_ring_cons__release(&port->rx, n);
	refill(port, n);
	return n;
}

/* From one port to the other, which may be the same; how many came. */
static unsigned pass_batch(struct port *from, struct port *to, const struct options *options,
			   struct tracker *tracker, __u64 *sent)
{
	struct pool *pool = from->pool;
	unsigned n, room;
	__u32 at, out;

	reclaim(to);
	n = xsk_ring_cons__peek(&from->rx, options->batch, &at);
	if (!n) {
		if (to->flying)
			kick(to);
		return 0;
	}
	room = RING - to->flying < n ? RING - to->flying : n;
	room = xsk_ring_prod__reserve(&to->tx, room, &out);
	for (unsigned i = 0; i < n; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&from->rx, at + i);

		turn(tracker, xsk_umem__get_data(pool->bytes, desc->addr), desc->len);
		if (i < room)
			*xsk_ring_prod__tx_desc(&to->tx, out + i) = *desc;
		else
			pool->free[pool->count++] = desc->addr;
	}
	xsk_ring_cons__release(&from->rx, n);
	xsk_ring_prod__submit(&to->tx, room);
	to->flying += room;
	*sent += room;
	kick(to);
	refill(from, n);
	return n;
}

static void say_ready(void)
{
	puts("{\"ready\":true}");
	fflush(stdout);
}

static void start(struct clock *clock, const struct options *options)
{
	clock->window = options->seconds * NS;
	clock->begin = now();
	getrusage(RUSAGE_THREAD, &clock->usage);
}

static bool is_over(const struct clock *clock)
{
	return now() - clock->begin >= clock->window;
}

static long long between(struct timeval from, struct timeval to)
{
	return (to.tv_sec - from.tv_sec) * (long long)NS + (to.tv_usec - from.tv_usec) * 1000ll;
}

static void report(const struct clock *clock, const struct port *port, __u64 sent, __u64 left,
		   const struct tracker *tracker)
{
	struct xdp_statistics statistics = {};
	socklen_t length = sizeof(statistics);
	struct rusage usage;
	__u64 end = now();

	getrusage(RUSAGE_THREAD, &usage);
	getsockopt(port->fd, SOL_XDP, XDP_STATISTICS, &statistics, &length);
	printf("{\"sent\":%llu,\"completed\":%llu,\"received\":%llu,\"missing\":%llu,"
	       "\"duplicated\":%llu,\"dropped\":%llu,\"ring_full\":%llu,\"seconds\":%.6f,"
	       "\"user_ns\":%lld,\"system_ns\":%lld}\n",
	       sent, sent - left, tracker->received, tracker->missing, tracker->duplicated,
	       statistics.rx_dropped + statistics.rx_ring_full, statistics.rx_ring_full,
	       (end - clock->begin) / 1e9,
	       between(clock->usage.ru_utime, usage.ru_utime),
	       between(clock->usage.ru_stime, usage.ru_stime));
}

static void run_tx(const struct options *options)
{
	static struct port port = { .pool = pools };
	unsigned char frame[CHUNK];
	struct tracker none = {};
	struct clock clock;
	__u64 sent = 0, left;

	open_port(&port, options, true);
	make_frame(frame, options->size);
	say_ready();
	for (start(&clock, options); !is_over(&clock);)
		for (int i = 0; i < TURNS; i++)
			sent += send_batch(&port, options, frame, sent);
	left = in_flight(&port);
	report(&clock, &port, sent, left, &none);
}

static void run_rx(const struct options *options)
{
	static struct port port = { .pool = pools };
	struct tracker tracker = {};
	__u64 deadline = now() + 20 * NS;
	struct clock clock;

	open_port(&port, options, true);
	say_ready();
	while (!tracker.received) {
		if (!receive_batch(&port, options, &tracker))
			wait_for(&port, options);
		if (now() > deadline)
			fail("no frame came", ETIMEDOUT);
	}
	for (start(&clock, options); !is_over(&clock);)
		for (int i = 0; i < TURNS; i++)
			if (!receive_batch(&port, options, &tracker))
				wait_for(&port, options);
	report(&clock, &port, 0, 0, &tracker);
}

static void run_pass(const struct options *options, bool back)
{
	static struct port from = { .pool = pools }, other = { .pool = pools };
	struct port *to = back ? &from : &other;
	struct tracker tracker = {};
	__u64 deadline = now() + 20 * NS, sent = 0, left;
	struct clock clock;

	open_port(&from, options, true);
	if (!back)
		open_port(&other, options, false);
	say_ready();
	while (!tracker.received) {
		if (!pass_batch(&from, to, options, &tracker, &sent))
			wait_for(&from, options);
		if (now() > deadline)
			fail("no frame came", ETIMEDOUT);
	}
	for (start(&clock, options); !is_over(&clock);)
		for (int i = 0; i < TURNS; i++)
			if (!pass_batch(&from, to, options, &tracker, &sent))
				wait_for(&from, options);
	left = in_flight(to);
	report(&clock, &from, sent, left, &tracker);
}

static void parse(struct options *options, int count, char **words)
{
	int at = 1;

	if (at < count && !strcmp(words[at], "--budget")) {
		options->budget = true;
		at++;
	}
	options->role = at < count ? words[at++] : "";
	for (; at + 1 < count; at += 2) {
		const char *name = words[at], *value = words[at + 1];

		if (!strcmp(name, "--dev"))
			options->dev = value;
		else if (!strcmp(name, "--out-dev"))
			options->out_dev = value;
		else if (!strcmp(name, "--queue"))
			options->queue = atoi(value);
		else if (!strcmp(name, "--map-id"))
			options->map = atoi(value);
		else if (!strcmp(name, "--out-map-id"))
			options->out_map = atoi(value);
		else if (!strcmp(name, "--seconds"))
			options->seconds = atof(value);
		else if (!strcmp(name, "--size"))
			options->size = atoi(value);
		else if (!strcmp(name, "--batch"))
			options->batch = atoi(value);
		else if (!strcmp(name, "--wait"))
			options->spin = !strcmp(value, "spin");
		else
			fail(name, EINVAL);
	}
	if (!options->batch || options->batch > BATCH_MAX || options->size < 60 ||
	    options->size > 1514)
		fail("--batch or --size", EINVAL);
}

int main(int count, char **words)
{
	struct options options = {
		.dev = "", .out_dev = "", .map = -1, .out_map = -1, .seconds = 1, .size = 60,
		.batch = 64,
	};

	parse(&options, count, words);
	if (!strcmp(options.role, "tx"))
		run_tx(&options);
	else if (!strcmp(options.role, "rx"))
		run_rx(&options);
	else if (!strcmp(options.role, "echo"))
		run_pass(&options, true);
	else if (!strcmp(options.role, "forward"))
		run_pass(&options, false);
	else
		fail("role", EINVAL);
	return 0;
}
