/*
 * AF_XDP sockets: packets between an interface's queue and this process, past the stack.
 *
 * Functions return 0 or a count, or a negative number of enum xway_xsk_error; xway_xsk_error()
 * then returns a message with the reason and the remedy. A handle that is closed or of another
 * kind, or that two threads use at the same time, is an error, as is a NULL. The caller must
 * guarantee what cannot be checked: memory that a pointer names has the stated size, and nothing
 * changes it during the call.
 *
 * Written by `cargo xtask header`; change the Rust side. See xway_xsk(3).
 */

#ifndef XWAY_XSK_H
#define XWAY_XSK_H

#include <stddef.h>
#include <stdint.h>

#define XWAY_XSK_VERSION "0.1.0"

/**
 * What functions answer when they fail. `xway_xsk_error()` says more.
 */
enum xway_xsk_error {
        /**
         * A NULL, a length or a value that no call takes: the program's fault.
         */
        XWAY_XSK_ERROR_ARGUMENT = -1,
        /**
         * Closed already, or no handle of this kind, or a frame that was given away: the program's
         * fault.
         */
        XWAY_XSK_ERROR_HANDLE = -2,
        /**
         * Another thread is in a call with this handle: the program's fault.
         */
        XWAY_XSK_ERROR_IN_USE = -3,
        /**
         * Options that do not fit together.
         */
        XWAY_XSK_ERROR_CONFIG = -4,
        /**
         * The interface or its driver cannot do this.
         */
        XWAY_XSK_ERROR_INTERFACE = -5,
        /**
         * A right is missing: run as root, or with the capabilities that the text names.
         */
        XWAY_XSK_ERROR_PERMISSION = -6,
        /**
         * The interface has another program, or the queue another socket.
         */
        XWAY_XSK_ERROR_TAKEN = -7,
        /**
         * The kernel refused a call; see `xway_xsk_errno()`.
         */
        XWAY_XSK_ERROR_SYSTEM = -8,
        /**
         * No free frame, or no room in the tx ring: wait until packets are sent.
         */
        XWAY_XSK_ERROR_FULL = -9,
        /**
         * The packet is longer than a frame, or than the interface takes.
         */
        XWAY_XSK_ERROR_TOO_LONG = -10,
        /**
         * A defect of the library. The handle of the call can only be closed.
         */
        XWAY_XSK_ERROR_DEFECT = -11,
};

/**
 * For `huge_pages` of `struct xway_xsk_umem_options`.
 */
enum xway_xsk_pages {
        /**
         * Plain pages.
         */
        XWAY_XSK_PAGES_PLAIN = 0,
        /**
         * Huge pages if there are any, else plain ones.
         */
        XWAY_XSK_PAGES_TRY_HUGE = 1,
        /**
         * Huge pages, or an error.
         */
        XWAY_XSK_PAGES_HUGE = 2,
};

/**
 * For `mode` of `struct xway_xsk_socket_options`.
 */
enum xway_xsk_mode {
        /**
         * Zero copy where the driver has it.
         */
        XWAY_XSK_MODE_AUTO = 0,
        /**
         * The kernel copies packets.
         */
        XWAY_XSK_MODE_COPY = 1,
        /**
         * Zero copy, or an error.
         */
        XWAY_XSK_MODE_ZERO_COPY = 2,
};

/**
 * For `wait` of `struct xway_xsk_socket_options`: how calls wait.
 */
enum xway_xsk_wait {
        /**
         * Looks for a moment where packets come one by one and soon; else sleeps.
         */
        XWAY_XSK_WAIT_ADAPTIVE = 0,
        /**
         * Sleeps: packets gather meanwhile, which is the least work for each.
         */
        XWAY_XSK_WAIT_POLL = 1,
        /**
         * Never sleeps: the shortest answers, for a whole processor.
         */
        XWAY_XSK_WAIT_SPIN = 2,
        /**
         * Never sleeps, and does the driver's work; needs `busy_poll_us`.
         */
        XWAY_XSK_WAIT_BUSY = 3,
};

/**
 * For `steer` of `struct xway_xsk_interface_options`.
 */
enum xway_xsk_steer {
        /**
         * All that a queue with a socket receives.
         */
        XWAY_XSK_STEER_ALL = 0,
        /**
         * What any of `rules` matches; the rest goes to the stack.
         */
        XWAY_XSK_STEER_RULES = 1,
        /**
         * Nothing, and no program is attached: for programs that only send.
         */
        XWAY_XSK_STEER_NOTHING = 2,
};

/**
 * For `mode` of `struct xway_xsk_interface_options`: where the program runs that steers.
 */
enum xway_xsk_xdp {
        /**
         * In the driver if it can, else in the stack.
         */
        XWAY_XSK_XDP_AUTO = 0,
        XWAY_XSK_XDP_NATIVE = 1,
        XWAY_XSK_XDP_GENERIC = 2,
};

/**
 * For `known` of `struct xway_xsk_received`, which is a sum of these.
 */
enum xway_xsk_known {
        /**
         * `hash` and `hash_type`.
         */
        XWAY_XSK_KNOWN_HASH = 1,
        /**
         * `time_ns`.
         */
        XWAY_XSK_KNOWN_TIME = 2,
        /**
         * `time_ns` is of the device's own clock, else of CLOCK_MONOTONIC.
         */
        XWAY_XSK_KNOWN_DEVICE_TIME = 4,
        /**
         * `vlan_control` and `vlan_protocol`.
         */
        XWAY_XSK_KNOWN_VLAN = 8,
        /**
         * The tag is still in the packet, else the device took it off.
         */
        XWAY_XSK_KNOWN_VLAN_INSIDE = 16,
};

/**
 * An interface; any thread may use it at any time. Its packets go to sockets as long as its own
 * handle or one of a socket on it is open.
 */
struct xway_xsk_interface;

/**
 * The half of a socket that receives: for one thread at a time.
 */
struct xway_xsk_rx;

/**
 * The half of a socket that sends: for one thread at a time.
 */
struct xway_xsk_tx;

/**
 * Memory for packets; any thread may use it at any time. It lives until the last of its own
 * handle and those of the sockets with it is closed.
 */
struct xway_xsk_umem;

/**
 * An interface, and which of its packets go to sockets.
 */
struct xway_xsk_interface_options {
        /**
         * `sizeof(struct xway_xsk_interface_options)`; set by xway_xsk_interface_options_init().
         */
        size_t size;
        /**
         * One of enum xway_xsk_steer.
         */
        uint32_t steer;
        /**
         * One of enum xway_xsk_xdp.
         */
        uint32_t mode;
        /**
         * With XWAY_XSK_STEER_RULES: `rules_count` texts, such as "10.1.0.2 udp 1234",
         * "any udp from any 53" or "ethertype 0x0806".
         */
        const char *const *rules;
        uint32_t rules_count;
        /**
         * Switch: time, hash and VLAN tag are written in front of each packet that is received.
         */
        uint32_t rx_metadata;
        /**
         * Switch: takes off whatever program the interface has. It is not put back.
         */
        uint32_t replace;
        uint32_t reserved;
};

/**
 * An interface as it was when it was opened.
 */
struct xway_xsk_interface_info {
        /**
         * `sizeof(struct xway_xsk_interface_info)`, set by the caller.
         */
        size_t size;
        uint32_t ifindex;
        /**
         * Bytes behind the Ethernet header.
         */
        uint32_t mtu;
        /**
         * Queues, numbered from 0.
         */
        uint32_t rx_queues;
        uint32_t tx_queues;
};

/**
 * A frame that the program owns: a packet in memory that is shared with the kernel, or an empty
 * one to be written. It is owned until it is submitted or released; then `data` is NULL. A copy
 * of this struct is not another frame: of two, the one that is used second is an error.
 */
struct xway_xsk_frame {
        /**
         * Where data starts. May be moved inside of the frame to take bytes off the front, or to
         * add some there.
         */
        uint8_t *data;
        /**
         * Bytes of data; of the first part when there are more.
         */
        uint32_t len;
        /**
         * Bytes that fit, counted from `data`.
         */
        uint32_t capacity;
        /**
         * Parts of a long packet behind this first one; see xway_xsk_umem_parts().
         */
        uint32_t more;
        /**
         * Who it is: not to be changed.
         */
        uint32_t token[3];
};

/**
 * What is known of a received packet beside its bytes.
 */
struct xway_xsk_received {
        /**
         * `sizeof(struct xway_xsk_received)`, set by the caller.
         */
        size_t size;
        /**
         * When it was received.
         */
        uint64_t time_ns;
        /**
         * A sum of enum xway_xsk_known: which of the others are there.
         */
        uint32_t known;
        /**
         * The device's, over what `hash_type` says.
         */
        uint32_t hash;
        /**
         * As the kernel's enum xdp_rss_hash_type.
         */
        uint32_t hash_type;
        /**
         * Priority, drop bit and number of the outermost VLAN tag.
         */
        uint32_t vlan_control;
        /**
         * 0x8100 or 0x88a8.
         */
        uint32_t vlan_protocol;
        uint32_t reserved;
};

/**
 * When a packet was transmitted that was asked with xway_xsk_tx_request_time().
 */
struct xway_xsk_sent_at {
        /**
         * As it was asked with.
         */
        uint64_t number;
        /**
         * With zero copy a time of the device's clock; in copy mode of CLOCK_TAI. 0 if the driver
         * told none.
         */
        uint64_t time_ns;
};

/**
 * Memory for packets. Sizes are in bytes; a switch is 0 for off and anything else for on.
 */
struct xway_xsk_umem_options {
        /**
         * `sizeof(struct xway_xsk_umem_options)`; set by xway_xsk_umem_options_init().
         */
        size_t size;
        /**
         * How many frames; 4096 by default.
         */
        uint32_t frames;
        /**
         * A power of two from 2048, the default, to the size of a page.
         */
        uint32_t frame_size;
        /**
         * Bytes that stay free in front of each packet, besides the kernel's own 256 on receive.
         */
        uint32_t headroom;
        /**
         * One of enum xway_xsk_pages.
         */
        uint32_t huge_pages;
        /**
         * Memory of this NUMA node; -1, the default, for the node that touches it first.
         */
        int32_t numa_node;
        /**
         * Switch: frames need not be a power of two.
         */
        uint32_t unaligned;
        /**
         * Switch: room in front of each packet for what the device is asked to do when it sends.
         */
        uint32_t transmit_metadata;
        /**
         * Switch: in copy mode the kernel computes the checksums that packets ask for.
         */
        uint32_t software_checksum;
};

/**
 * One socket. A switch is 0 for off and anything else for on.
 */
struct xway_xsk_socket_options {
        /**
         * `sizeof(struct xway_xsk_socket_options)`; set by xway_xsk_socket_options_init().
         */
        size_t size;
        /**
         * One of enum xway_xsk_mode.
         */
        uint32_t mode;
        /**
         * Slots of the rx, tx and completion rings: a power of two; 2048 by default.
         */
        uint32_t rings;
        /**
         * Slots of the fill ring, a power of two; 2048 by default.
         */
        uint32_t fill;
        /**
         * How many packets of xway_xsk_send() wait for each other; 1 by default.
         */
        uint32_t batch;
        /**
         * Switch, on by default: the kernel says when it wants to be called.
         */
        uint32_t need_wakeup;
        /**
         * Switch: packets may be longer than a frame.
         */
        uint32_t multi_buffer;
        /**
         * Packets that one call of the kernel sends in copy mode; 0, the default, for as many as
         * it may.
         */
        uint32_t transmit_budget;
        /**
         * How long to wait for a queue that is still being closed; 500 by default.
         */
        uint32_t patience_ms;
        /**
         * Switch: other sockets may be opened beside it, on the same queue.
         */
        uint32_t shareable;
        /**
         * One of enum xway_xsk_wait.
         */
        uint32_t wait;
        /**
         * Busy polling: microseconds that a call of the kernel may poll; 0, the default, for none.
         */
        uint32_t busy_poll_us;
        /**
         * Busy polling: packets that one poll handles at most; 64 by default.
         */
        uint32_t busy_poll_budget;
        /**
         * Switch of busy polling: the kernel does not poll by itself while the program does.
         */
        uint32_t prefer_busy_poll;
        /**
         * A packet that waited so long for its batch is sent by the next call; 0, the default,
         * for no such limit.
         */
        uint32_t longest_delay_us;
};

/**
 * Bytes of the program's own, or part of a packet.
 */
struct xway_xsk_packet {
        void *data;
        /**
         * Bytes that are there; where something is to be received: that fit, and then how long the
         * packet is, which may be more.
         */
        size_t len;
};

/**
 * What the receiving half counted since it was opened, and the kernel for the whole socket.
 */
struct xway_xsk_rx_stats {
        /**
         * `sizeof(struct xway_xsk_rx_stats)`, set by the caller.
         */
        size_t size;
        /**
         * Packets.
         */
        uint64_t received;
        /**
         * Calls that told the kernel of empty frames.
         */
        uint64_t kicks;
        /**
         * Times that there was no free frame for the fill ring.
         */
        uint64_t starved;
        /**
         * Descriptors that named no frame of the socket, or data outside of it; ignored.
         */
        uint64_t invalid;
        /**
         * Packets of more parts than a frame can have; dropped.
         */
        uint64_t too_long;
        /**
         * Times that an index of the kernel was out of its ring; ignored.
         */
        uint64_t faults;
        /**
         * The kernel: packets too large for a frame, or lost for other reasons than a full ring.
         */
        uint64_t rx_dropped;
        /**
         * The kernel: packets that found no room in the rx ring.
         */
        uint64_t rx_ring_full;
        /**
         * The kernel: packets that found no empty frame in the fill ring.
         */
        uint64_t fill_ring_empty;
        /**
         * The kernel: addresses in the fill ring that were refused.
         */
        uint64_t fill_invalid;
        /**
         * The kernel: descriptors in the tx ring that were refused.
         */
        uint64_t tx_invalid;
        /**
         * The kernel: times that it was asked to transmit and found nothing.
         */
        uint64_t tx_ring_empty;
};

/**
 * What the sending half counted since it was opened.
 */
struct xway_xsk_tx_stats {
        /**
         * `sizeof(struct xway_xsk_tx_stats)`, set by the caller.
         */
        size_t size;
        /**
         * Packets handed to the kernel.
         */
        uint64_t sent;
        /**
         * Frames that came back from it.
         */
        uint64_t completed;
        /**
         * Frames that the kernel has now.
         */
        uint64_t in_flight;
        /**
         * Calls that let the kernel transmit.
         */
        uint64_t kicks;
        /**
         * Of these, answered with "not now".
         */
        uint64_t kicks_refused;
        /**
         * Times that a packet found no free frame, or no room in the tx ring.
         */
        uint64_t full;
        /**
         * Completions that named no frame of the socket; ignored.
         */
        uint64_t invalid;
        /**
         * Times that an index of the kernel was out of its ring; ignored.
         */
        uint64_t faults;
        /**
         * Times of transmission that were asked for and not taken before newer ones came.
         */
        uint64_t timestamps_lost;
        /**
         * Of those sent, dropped by the driver at once: no link, or its queue is full. Copy mode.
         */
        uint64_t dropped;
};

/**
 * What a memory is like, and where its frames are. The four counts of frames add up to `frames`;
 * they are exact while no other thread moves frames. A leak is what stays `held` when every socket
 * is closed and every frame released.
 */
struct xway_xsk_umem_info {
        /**
         * `sizeof(struct xway_xsk_umem_info)`, set by the caller.
         */
        size_t size;
        uint32_t frames;
        /**
         * Bytes.
         */
        uint32_t frame_size;
        /**
         * Bytes of the longest packet that one frame takes on receive.
         */
        uint32_t receive_room;
        /**
         * Bytes of the longest packet that one frame takes on transmit.
         */
        uint32_t transmit_room;
        /**
         * 1 if it is made of huge pages.
         */
        uint32_t huge_pages;
        /**
         * Frames that nobody has.
         */
        uint32_t free;
        /**
         * Frames in the program's hands, and free ones that sockets keep ready.
         */
        uint32_t held;
        /**
         * Frames with the kernel for packets to come, or received and not yet taken.
         */
        uint32_t receiving;
        /**
         * Frames with the kernel to be sent, or sent and not yet taken back.
         */
        uint32_t transmitting;
        uint32_t reserved;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What went wrong in this thread's last call that failed, and what to do about it: one line of
 * text, empty when none failed. It stays until the next call of the library in this thread.
 */
const char *xway_xsk_error(void);

/**
 * The `errno` with which the kernel caused this thread's last failure; 0 when it was not the
 * kernel.
 */
int xway_xsk_errno(void);

/**
 * What a code means in general. Never NULL; the text is constant.
 */
const char *xway_xsk_strerror(int code);

/**
 * Opens an interface of the calling thread's network namespace, and attaches the program that
 * steers its packets, or joins it where sockets of other programs have it there already. `options`
 * may be NULL for the defaults: every packet goes to the socket of its queue.
 */
int xway_xsk_interface_open(const char *name,
                            const struct xway_xsk_interface_options *options,
                            struct xway_xsk_interface **interface);

/**
 * Closes the handle. Sockets on the interface go on; with the last of them, packets go to the
 * stack again.
 */
int xway_xsk_interface_close(struct xway_xsk_interface *interface);

/**
 * Tells what the interface is like.
 */
int xway_xsk_interface_info(struct xway_xsk_interface *interface,
                            struct xway_xsk_interface_info *info);

/**
 * Whether a text is a rule, as for `rules` of struct xway_xsk_interface_options.
 */
int xway_xsk_rule_check(const char *rule);

/**
 * Tells what is known of a packet beside its bytes, if the interface was opened with
 * `rx_metadata`. Answers 1, or 0 if nothing is known.
 */
int xway_xsk_rx_received(struct xway_xsk_rx *rx,
                         const struct xway_xsk_frame *frame,
                         struct xway_xsk_received *received);

/**
 * Asks the device for the Internet checksum of the bytes from `start` to the packet's end. It is
 * put `offset` bytes behind `start`, where the sum of the pseudo header must be already. With both
 * 0, that is done here, for TCP and UDP. All requests need memory with `transmit_metadata`, and
 * come after the last change to the frame's `data` and `len`.
 */
int xway_xsk_tx_request_checksum(struct xway_xsk_tx *tx,
                                 const struct xway_xsk_frame *frame,
                                 uint32_t start,
                                 uint32_t offset);

/**
 * Asks when the packet is transmitted; xway_xsk_tx_sent_at() tells, with this number.
 */
int xway_xsk_tx_request_time(struct xway_xsk_tx *tx,
                             const struct xway_xsk_frame *frame,
                             uint64_t number);

/**
 * Asks the device not to transmit the packet before a time of its own clock, nor those behind it.
 */
int xway_xsk_tx_request_launch(struct xway_xsk_tx *tx,
                               const struct xway_xsk_frame *frame,
                               uint64_t at_ns);

/**
 * Tells when packets were transmitted, in the order in which their frames came back, `count` at
 * most. Answers how many.
 */
int xway_xsk_tx_sent_at(struct xway_xsk_tx *tx,
                        struct xway_xsk_sent_at *times,
                        uint32_t count);

/**
 * Fills in defaults. `size` is `sizeof *options`.
 */
int xway_xsk_umem_options_init(struct xway_xsk_umem_options *options, size_t size);

/**
 * Fills in defaults. `size` is `sizeof *options`.
 */
int xway_xsk_interface_options_init(struct xway_xsk_interface_options *options,
                                    size_t size);

/**
 * Fills in defaults. `size` is `sizeof *options`.
 */
int xway_xsk_socket_options_init(struct xway_xsk_socket_options *options, size_t size);

/**
 * Closes this half; the socket closes with the second one. Packets go to the stack from now on.
 */
int xway_xsk_rx_close(struct xway_xsk_rx *rx);

/**
 * Copies the next packet into `buffer`. Waits for one `timeout_ms` at most; 0 not at all, -1 until
 * one or a signal comes. Answers its length, which may be more than `capacity`: then the rest is
 * lost. 0 when there was none.
 */
int xway_xsk_recv(struct xway_xsk_rx *rx,
                  void *buffer,
                  size_t capacity,
                  int timeout_ms);

/**
 * Copies up to `count` packets into the buffers of `packets`, whose `len` is how much fits and
 * becomes the length of the packet. Waits as xway_xsk_recv() does until there is one. Answers how
 * many it copied.
 */
int xway_xsk_recv_batch(struct xway_xsk_rx *rx,
                        struct xway_xsk_packet *packets,
                        uint32_t count,
                        int timeout_ms);

/**
 * Takes up to `count` received packets without a copy, as frames that the program owns until it
 * submits or releases them. Waits as xway_xsk_recv() does until there is one. Answers how many.
 */
int xway_xsk_rx_take(struct xway_xsk_rx *rx,
                     struct xway_xsk_frame *frames,
                     uint32_t count,
                     int timeout_ms);

/**
 * Gives frames back, to be received into again. Answers how many; the first that is none of the
 * program's frames ends it.
 */
int xway_xsk_rx_release(struct xway_xsk_rx *rx,
                        struct xway_xsk_frame *frames,
                        uint32_t count);

/**
 * Waits as xway_xsk_recv() does. Answers 1 if a packet is there, else 0.
 */
int xway_xsk_rx_wait(struct xway_xsk_rx *rx, int timeout_ms);

/**
 * The socket's descriptor, for poll(2) and epoll(7): readable when packets are there. It stays the
 * library's.
 */
int xway_xsk_rx_fd(struct xway_xsk_rx *rx);

/**
 * Fills in what this half counted, and the kernel for the whole socket.
 */
int xway_xsk_rx_stats(struct xway_xsk_rx *rx, struct xway_xsk_rx_stats *stats);

/**
 * Opens a socket on a queue of an interface, in two halves that different threads may use. With
 * `umem` NULL it has memory of its own; `options` may be NULL for the defaults. Sockets on other
 * queues, also of other interfaces, may have the same memory.
 */
int xway_xsk_socket_open(struct xway_xsk_interface *interface,
                         uint32_t queue,
                         struct xway_xsk_umem *umem,
                         const struct xway_xsk_socket_options *options,
                         struct xway_xsk_tx **tx,
                         struct xway_xsk_rx **rx);

/**
 * Opens another socket on the queue of one that was opened with `shareable`, with the same memory.
 * Each of them needs an interface handle with rules of its own.
 */
int xway_xsk_socket_open_beside(struct xway_xsk_interface *interface,
                                struct xway_xsk_tx *first,
                                const struct xway_xsk_socket_options *options,
                                struct xway_xsk_tx **tx,
                                struct xway_xsk_rx **rx);

/**
 * Another handle of the memory that a socket has, to be closed like any.
 */
int xway_xsk_tx_umem(struct xway_xsk_tx *tx, struct xway_xsk_umem **umem);

/**
 * As xway_xsk_tx_umem().
 */
int xway_xsk_rx_umem(struct xway_xsk_rx *rx, struct xway_xsk_umem **umem);

/**
 * Closes this half; the socket closes with the second one. What was not transmitted may be lost:
 * see xway_xsk_tx_drain().
 */
int xway_xsk_tx_close(struct xway_xsk_tx *tx);

/**
 * Copies one packet, Ethernet header first, and sends it. With a `batch` in the options it may
 * wait until xway_xsk_tx_flush(). After XWAY_XSK_ERROR_FULL it can be tried again; when the kernel
 * refuses the interface (XWAY_XSK_ERROR_SYSTEM), the packet is queued nevertheless.
 */
int xway_xsk_send(struct xway_xsk_tx *tx,
                  const void *packet,
                  size_t len);

/**
 * Copies packets and sends them together. Answers how many it took; if not all, xway_xsk_error()
 * says why.
 */
int xway_xsk_send_batch(struct xway_xsk_tx *tx,
                        const struct xway_xsk_packet *packets,
                        uint32_t count);

/**
 * Takes up to `count` free frames to be written and submitted. Answers how many were free, which
 * may be none.
 */
int xway_xsk_tx_reserve(struct xway_xsk_tx *tx,
                        struct xway_xsk_frame *frames,
                        uint32_t count);

/**
 * Sends frames without a copy, together: reserved ones, or received ones of the same memory, of
 * whatever socket. Answers how many it took, from the first on; these are empty then, the others
 * are the program's as before. If not all, xway_xsk_error() says why.
 */
int xway_xsk_tx_submit(struct xway_xsk_tx *tx,
                       struct xway_xsk_frame *frames,
                       uint32_t count);

/**
 * Gives frames back unsent, to be reserved again. Answers how many; the first that is none of the
 * program's frames ends it.
 */
int xway_xsk_tx_release(struct xway_xsk_tx *tx,
                        struct xway_xsk_frame *frames,
                        uint32_t count);

/**
 * Sends what waits, and takes back frames that are done.
 */
int xway_xsk_tx_flush(struct xway_xsk_tx *tx);

/**
 * Sends what waits, and waits until the kernel has sent all, `timeout_ms` at most; -1 for no
 * limit. Answers how many frames the kernel still has.
 */
int xway_xsk_tx_drain(struct xway_xsk_tx *tx,
                      int timeout_ms);

/**
 * Waits until a packet can be sent, `timeout_ms` at most; 0 not at all, -1 until then or until a
 * signal comes. Answers 1 if one can, else 0.
 */
int xway_xsk_tx_wait(struct xway_xsk_tx *tx,
                     int timeout_ms);

/**
 * The socket's descriptor, for poll(2) and epoll(7): writable when the tx ring has room. It stays
 * the library's.
 */
int xway_xsk_tx_fd(struct xway_xsk_tx *tx);

/**
 * 1 if the driver works on the memory itself, 0 if packets are copied.
 */
int xway_xsk_tx_is_zero_copy(struct xway_xsk_tx *tx);

/**
 * Fills in what this half counted.
 */
int xway_xsk_tx_stats(struct xway_xsk_tx *tx, struct xway_xsk_tx_stats *stats);

/**
 * Makes memory for packets. `options` may be NULL for the defaults.
 */
int xway_xsk_umem_open(const struct xway_xsk_umem_options *options,
                       struct xway_xsk_umem **umem);

/**
 * Closes the handle. Sockets with the memory go on.
 */
int xway_xsk_umem_close(struct xway_xsk_umem *umem);

/**
 * Tells what the memory is like, and where its frames are.
 */
int xway_xsk_umem_info(struct xway_xsk_umem *umem, struct xway_xsk_umem_info *info);

/**
 * Takes up to `count` free frames, as xway_xsk_tx_reserve() does, in any thread. Answers how many
 * were free.
 */
int xway_xsk_umem_reserve(struct xway_xsk_umem *umem,
                          struct xway_xsk_frame *frames,
                          uint32_t count);

/**
 * Gives frames back, in any thread; the fastest way is the half of a socket that uses them next.
 * Answers how many; see xway_xsk_tx_release().
 */
int xway_xsk_umem_release(struct xway_xsk_umem *umem,
                          struct xway_xsk_frame *frames,
                          uint32_t count);

/**
 * Lets one packet be of several frames: `tail`, with all that follows it, becomes the end of
 * `head`, and is empty then. The socket must have been opened with `multi_buffer`.
 */
int xway_xsk_umem_append(struct xway_xsk_umem *umem,
                         struct xway_xsk_frame *head,
                         struct xway_xsk_frame *tail);

/**
 * Shows where the parts of a packet are, `count` of them at most, the first one included. They may
 * be read until the frame is submitted or released. Answers how many parts there are.
 */
int xway_xsk_umem_parts(struct xway_xsk_umem *umem,
                        const struct xway_xsk_frame *frame,
                        struct xway_xsk_packet *parts,
                        uint32_t count);

/**
 * The version of the library, such as `0.1.0`. Compare with `XWAY_XSK_VERSION` to know whether it
 * is the one whose header a program was built with.
 */
const char *xway_xsk_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* XWAY_XSK_H */
