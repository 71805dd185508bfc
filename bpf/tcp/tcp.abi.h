/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the TCP programs and their Rust half both know.
 *
 * Flows have numbers. Flow n comes from address `source` + n / `ports` and port
 * `first_port` + n % `ports`, so both ways are arithmetic. Senders share the flows in blocks:
 * sender s has those from s * `share` on.
 * Sequence numbers are 64 bits wide and count from the flow's SYN, which is 0; payload is 1 to
 * `limit`, the FIN `limit` + 1. On the wire they are `iss` more, modulo 2^32.
 * Times are ns of the monotonic clock unless they say otherwise.
 */
#ifndef XWAY_TCP_ABI_H
#define XWAY_TCP_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Not between the destination and one of our flows: the stack's. */
	XWAY_NOT_OURS,
	/* A segment that its flow's state allows. */
	XWAY_TAKEN,
	/* One that it does not: old, out of the window, or acknowledging what was never sent. */
	XWAY_UNACCEPTABLE,
	/*
	 * One that is not read: a wrong checksum, IPv4 options or IPv6 extension headers, or TCP
	 * options that are malformed or a signature.
	 */
	XWAY_REFUSED,
};
#define XWAY_REASONS (XWAY_REFUSED + 1)

/* RFC 9293, section 3.3.2, those that an active opener passes; IDLE was not opened yet. */
enum tcp_state {
	TCP_STATE_IDLE,
	TCP_STATE_SYN_SENT,
	TCP_STATE_ESTABLISHED,
	TCP_STATE_FIN_WAIT_1,
	TCP_STATE_FIN_WAIT_2,
	TCP_STATE_CLOSING,
	TCP_STATE_TIME_WAIT,
	TCP_STATE_CLOSE_WAIT,
	TCP_STATE_LAST_ACK,
	TCP_STATE_CLOSED,
};

/* How a flow ended. */
enum tcp_end {
	/* It has not. */
	TCP_END_NONE,
	/* Both FINs were acknowledged. */
	TCP_END_CLOSED,
	/* RST in answer to the SYN. */
	TCP_END_REFUSED,
	/* RST later. */
	TCP_END_RESET,
	/* No SYN was answered. */
	TCP_END_UNANSWERED,
	/* Nothing came back for too long. */
	TCP_END_TIMED_OUT,
	/* Reset by us. */
	TCP_END_ABORTED,
};
#define TCP_ENDS (TCP_END_ABORTED + 1)

enum tcp_algorithm {
	TCP_ALGORITHM_NEW_RENO,
	TCP_ALGORITHM_CUBIC,
};

/* What the run is at; user space moves it on. */
enum tcp_phase {
	/* Flows are opened and send. */
	TCP_PHASE_RUN,
	/* Nothing new is opened; flows send FIN behind what they have sent. */
	TCP_PHASE_FINISH,
	/* Flows that are left are reset. */
	TCP_PHASE_ABORT,
	/* Frames are given back at once. */
	TCP_PHASE_HALT,
};

/* Whether something is to be sent again. */
enum tcp_recovery {
	TCP_RECOVERY_NONE,
	/* Fast recovery: later segments have arrived. */
	TCP_RECOVERY_FAST,
	/* After a timeout: everything outstanding counts as lost. */
	TCP_RECOVERY_TIMEOUT,
};

/* Segments that a flow owes besides data: bits of tcp_flow.owes. */
#define TCP_OWES_SYN 1
#define TCP_OWES_ACK 2
#define TCP_OWES_PROBE 4
#define TCP_OWES_RESET 8

/* Bits of tcp_flow.has. */
#define TCP_HAS_TIMESTAMPS 1
#define TCP_HAS_SACK 2
/* In the ready ring. */
#define TCP_HAS_PLACE 4
/* A segment without timestamp is being timed. */
#define TCP_HAS_TIMING 8

/* Ranges of a flow's data that have arrived behind a hole. */
#define TCP_RANGES 16

/* Deadlines in one element of `tcp_deadlines`: a line of cache. */
#define TCP_DEADLINES 16

/* Constant for a run; `tcp_config` in .rodata. */
struct tcp_config {
	/* Destination's first, as in a frame. */
	__u8 macs[12];
	/* The first flow's address; IPv4 in the first word. */
	__be32 source[4];
	__be32 destination[4];
	__be16 port;
	__u16 first_port;
	/* Ports of an address. */
	__u32 ports;
	__u32 flows;
	/* Flows of a sender. */
	__u32 share;
	/* Places of a sender in `tcp_ready`: a power of two, at least `share`. */
	__u32 ring;
	/* This sender. */
	__u32 sender;
	/* Frames leave through this interface. */
	__u32 ifindex;
	/* Mixed into initial sequence numbers. */
	__u32 seed;
	/* Of both ways, as the MSS option counts: without options. */
	__u16 mss;
	__u8 ipv6;
	/* enum tcp_algorithm */
	__u8 algorithm;
	/* Frames that are prepared at once. */
	__u32 batch;
	/* Segments that a flow sends in one go. */
	__u32 quantum;
	/* Segments of the initial window. */
	__u32 initial;
	/* Timeouts in a row without an answer, then the flow is given up. */
	__u32 retries;
	/* Payload of a flow. */
	__u64 bytes;
	__u64 least_timeout;
	__u64 time_wait;
	/* Of this run; deadlines count from here. */
	__u64 start;
	/* From one SYN of this sender to the next, in units of 2^-16 ns. */
	__u64 open_interval;
	/* The same for a byte of payload; 0 for as fast as windows allow. */
	__u64 byte_interval;
};
_Static_assert(sizeof(struct tcp_config) == 144, "no hidden padding");

/* The one element of `tcp_control`, mapped by user space. */
struct tcp_control {
	/* enum tcp_phase */
	__u64 phase;
};

/* [start, end) has arrived. */
struct tcp_range {
	__u64 start;
	__u64 end;
};

/* Connection n. */
struct tcp_flow {
	/* Sent and not acknowledged: [una, nxt). */
	__u64 una;
	__u64 nxt;
	/* Bytes of payload before the FIN. */
	__u64 limit;
	/* The receiver takes what is below. */
	__u64 edge;
	/* Recovery ends when una gets here. */
	__u64 recover;
	/* What is below, and in no range, is lost; sent again up to `repeated`. */
	__u64 lost;
	__u64 repeated;
	/* nxt when something was sent again last. */
	__u64 repeated_at;
	/* The congestion window held back what is below. */
	__u64 limited;

	/* When the timer runs out; what it is for follows from the rest. 0: it does not run. */
	__u64 deadline;
	__u64 opened;
	__u64 established;
	/* The last acknowledgement of something new. */
	__u64 progress;
	__u64 ended;
	/* Round trip, smoothed, and its variation; the timeout before any backoff. */
	__u64 rtt;
	__u64 rtt_variation;
	__u64 timeout;
	/* Without timestamps: when `timed` was sent. */
	__u64 timed;
	__u64 timed_at;

	/* CUBIC: when this epoch began; 0 between epochs. */
	__u64 epoch;
	/* From there to the plateau, in 1/1024 s. */
	__u64 plateau;
	/* Bytes acknowledged that the window has not grown for yet. */
	__u64 credit;

	__u64 segments;
	__u64 data_segments;

	__u32 iss;
	__u32 rcv_nxt;
	/* Sequence number that the window was taken from (SND.WL1). */
	__u32 window_seq;
	/* The receiver's, and the largest that it was. */
	__u32 window;
	__u32 window_most;
	/* The peer's timestamp that is sent back. */
	__u32 ts_recent;
	/* Sequence number of the RST that is owed. */
	__u32 reset_seq;
	__u32 cwnd;
	__u32 ssthresh;
	/* CUBIC: window before the last reduction, at the plateau, and as NewReno would have it. */
	__u32 before;
	__u32 origin;
	__u32 estimate;
	__u32 fast_repeats;
	__u32 timeout_repeats;
	__u32 timeouts;
	__u32 rtt_last;
	__u32 rtt_least;
	/* Payload of a full segment. */
	__u16 mss;
	/* enum tcp_state, tcp_end, tcp_recovery */
	__u8 state;
	__u8 end;
	__u8 recovery;
	__u8 owes;
	__u8 has;
	/* Shift of the receiver's window. */
	__u8 scale;
	/* How many of `range` are in use. */
	__u8 ranges;
	/* Duplicate acknowledgements, counted without SACK. */
	__u8 duplicates;
	/* Timeouts that doubled the timer; timeouts since anything was heard. */
	__u8 backoff;
	__u8 silent;
	/* By position; never adjacent. */
	struct tcp_range range[TCP_RANGES];
};
_Static_assert(sizeof(struct tcp_flow) == 528, "no hidden padding");

/* Segments that were taken from a flow and are written one a frame. */
struct tcp_burst {
	/* Next to write, behind the last, the FIN's. */
	__u64 seq;
	__u64 end;
	__u64 fin;
	__u32 flow;
	__u32 iss;
	/* Frames to go. */
	__u32 left;
	__be32 source;
	__be32 ack;
	__be32 ts_value;
	__be32 ts_echo;
	__be16 port;
	__u16 mss;
	/* Sums of what does not change from segment to segment: of TCP, of the IPv4 header. */
	__u32 sum;
	__u32 ip_sum;
	/* First bytes 13 and 12 of the TCP header: flags, and its length in fours. */
	__u8 flags;
	__u8 words;
	__u8 zero[6];
};
_Static_assert(sizeof(struct tcp_burst) == 72, "no hidden padding");

/* One of those that send: an element of `tcp_senders`. */
struct tcp_sender {
	/* Since the call began; user space sets it to 0 before each. */
	__u64 runs;
	/* Runs that sent a segment. */
	__u64 sent;
	/* The run that sent last. */
	__u64 last;
	/* Position in the ready ring. */
	__u64 head;
	/* When timers and opening are looked at next. */
	__u64 look;
	/* When the next burst may leave, and the next SYN, in units of 2^-16 ns since the start. */
	__u64 due;
	__u64 open_due;
	/* Flows opened so far, of this sender. */
	__u32 opened;
	/* The phase that the sweep is for, and how far it came. */
	__u32 phase;
	__u32 swept;
	/* Next element of `tcp_deadlines`. */
	__u32 line;
	/* Nothing is sent any more in this batch. */
	__u32 idle;
	__u32 zero;
	struct tcp_burst burst;
};
_Static_assert(sizeof(struct tcp_sender) == 152, "no hidden padding");

/* Of each processor; the one element of `tcp_totals`. */
struct tcp_totals {
	__u64 opened;
	__u64 established;
	__u64 ends[TCP_ENDS];
	__u64 acked;
	__u64 segments;
	__u64 data_segments;
	__u64 fast_repeats;
	__u64 timeout_repeats;
	__u64 timeouts;
	__u64 probes;
	__u64 range_overflows;
	__u64 unacceptable;
};
_Static_assert(sizeof(struct tcp_totals) == 18 * 8, "64-bit words");

#endif
