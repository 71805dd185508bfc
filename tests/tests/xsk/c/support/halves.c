/*
 * One socket, two threads: one sends numbered packets in all ways there are, the other receives
 * their echo in all ways there are. Ends with 0 if each number came back once, and every frame came
 * home. Arguments: an interface, how many packets.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xway_xsk.h>

#define BATCH 16
#define LENGTH 60
/* How many packets are away at most, so that no ring is ever full. */
#define WINDOW 512

static struct xway_xsk_tx *tx;
static struct xway_xsk_rx *rx;
static uint32_t total, back;
static unsigned char *seen;

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, xway_xsk_error());
	exit(2);
}

static void fill(unsigned char *packet, uint32_t number)
{
	memset(packet, 0, LENGTH);
	memset(packet, 0xff, 6);
	packet[6] = 2;
	packet[12] = 0x88;
	packet[13] = 0xb5;
	memcpy(packet + 16, &number, 4);
}

static int send_copies(uint32_t first)
{
	unsigned char bytes[BATCH][LENGTH];
	struct xway_xsk_packet packets[BATCH];
	int i;

	for (i = 0; i < BATCH; i++) {
		fill(bytes[i], first + i);
		packets[i].data = bytes[i];
		packets[i].len = LENGTH;
	}
	return xway_xsk_send_batch(tx, packets, BATCH);
}

static int send_frames(uint32_t first)
{
	struct xway_xsk_frame frames[BATCH];
	int i, sent, count = xway_xsk_tx_reserve(tx, frames, BATCH);

	for (i = 0; i < count; i++) {
		fill(frames[i].data, first + i);
		frames[i].len = LENGTH;
	}
	sent = xway_xsk_tx_submit(tx, frames, count);
	if (sent >= 0 && sent < count && xway_xsk_tx_release(tx, frames + sent, count - sent) < 0)
		fail("release");
	return sent;
}

static int send_one(uint32_t number)
{
	unsigned char packet[LENGTH];

	fill(packet, number);
	return xway_xsk_send(tx, packet, LENGTH) < 0 ? -1 : 1;
}

static void *sender(void *arg)
{
	int (*const ways[])(uint32_t) = { send_copies, send_frames, send_one };
	uint32_t sent = 0;
	int way = 0, count;

	(void)arg;
	while (sent < total) {
		if (sent - __atomic_load_n(&back, __ATOMIC_SEQ_CST) > WINDOW - BATCH) {
			xway_xsk_tx_wait(tx, 1);
			continue;
		}
		count = total - sent < BATCH ? send_one(sent) : ways[way++ % 3](sent);
		if (count < 0)
			fail("send");
		sent += count;
	}
	if (xway_xsk_tx_drain(tx, 10000) != 0)
		fail("drain");
	return NULL;
}

static void note(const unsigned char *packet, size_t len)
{
	uint32_t number;

	if (len < LENGTH || packet[12] != 0x88 || packet[13] != 0xb5)
		return;
	memcpy(&number, packet + 16, 4);
	if (number >= total || seen[number]++) {
		fprintf(stderr, "packet %u came twice, or never left\n", number);
		exit(1);
	}
	__atomic_add_fetch(&back, 1, __ATOMIC_SEQ_CST);
}

static int receive_one(void)
{
	unsigned char packet[2048];
	int len = xway_xsk_recv(rx, packet, sizeof(packet), 10000);

	if (len > 0)
		note(packet, len);
	return len;
}

static int receive_copies(void)
{
	unsigned char bytes[BATCH][2048];
	struct xway_xsk_packet packets[BATCH];
	int i, count;

	for (i = 0; i < BATCH; i++) {
		packets[i].data = bytes[i];
		packets[i].len = sizeof(bytes[i]);
	}
	count = xway_xsk_recv_batch(rx, packets, BATCH, 10000);
	for (i = 0; i < count; i++)
		note(bytes[i], packets[i].len);
	return count;
}

static int receive_frames(void)
{
	struct xway_xsk_frame frames[BATCH];
	struct pollfd ready = { .fd = xway_xsk_rx_fd(rx), .events = POLLIN };
	int i, count;

	poll(&ready, 1, 10000);
	count = xway_xsk_rx_take(rx, frames, BATCH, 0);
	for (i = 0; i < count; i++)
		note(frames[i].data, frames[i].len);
	if (count > 0 && xway_xsk_rx_release(rx, frames, count) != count)
		fail("release");
	return count;
}

static void *receiver(void *arg)
{
	int (*const ways[])(void) = { receive_one, receive_copies, receive_frames };
	int way = 0;

	(void)arg;
	while (__atomic_load_n(&back, __ATOMIC_SEQ_CST) < total)
		if (ways[way++ % 3]() <= 0)
			fail("receive");
	return NULL;
}

static int audit(struct xway_xsk_umem *umem, struct xway_xsk_umem_info *info)
{
	info->size = sizeof(*info);
	if (xway_xsk_umem_info(umem, info) < 0)
		fail("info");
	return info->free + info->held + info->receiving + info->transmitting == info->frames;
}

int main(int argc, char **argv)
{
	struct xway_xsk_interface *interface;
	struct xway_xsk_umem *umem;
	struct xway_xsk_umem_info info;
	struct xway_xsk_tx_stats sent = { .size = sizeof(sent) };
	struct xway_xsk_rx_stats received = { .size = sizeof(received) };
	pthread_t threads[2];

	total = argc == 3 ? (uint32_t)atoi(argv[2]) : 0;
	seen = calloc(total + 1, 1);
	if (!total || !seen)
		return 2;
	if (xway_xsk_interface_open(argv[1], NULL, &interface) < 0)
		fail(argv[1]);
	if (xway_xsk_socket_open(interface, 0, NULL, NULL, &tx, &rx) < 0)
		fail("socket");
	if (xway_xsk_tx_umem(tx, &umem) < 0)
		fail("umem");
	pthread_create(&threads[0], NULL, sender, NULL);
	pthread_create(&threads[1], NULL, receiver, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);

	if (xway_xsk_tx_stats(tx, &sent) < 0 || xway_xsk_rx_stats(rx, &received) < 0)
		fail("stats");
	if (!audit(umem, &info) || sent.in_flight)
		return 1;
	if (sent.sent != total || received.received < total)
		return 1;
	xway_xsk_tx_close(tx);
	xway_xsk_rx_close(rx);
	xway_xsk_interface_close(interface);
	if (!audit(umem, &info) || info.free != info.frames) {
		fprintf(stderr, "%u of %u frames are free\n", info.free, info.frames);
		return 1;
	}
	xway_xsk_umem_close(umem);
	free(seen);
	return 0;
}
