/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the TCP programs and their Rust half.
 *
 * Flows have numbers. Flow n comes from address `source` + n / `ports` and port `first_port` + n %
 * `ports`, so it can be computed in both directions. Senders share the flows in blocks: the flows
 * of sender s begin at s * `share`.
 * Sequence numbers are 64 bits wide and count from the flow's SYN, which is 0; payload is 1 to
 * `limit`, the FIN `limit` + 1. In segments they are increased by `iss`, modulo 2^32.
 * Times are in ns of the monotonic clock unless stated otherwise.
 */
#ifndef XWAY_TCP_ABI_H
#define XWAY_TCP_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Not between the destination and one of our flows: passed to the stack. */
	XWAY_NOT_OURS,
	/* A segment that its flow's state allows. */
	XWAY_TAKEN,
	/*
	 * A segment that it does not allow: old, outside of the window, or acknowledging unsent
	 * data.
	 */
	XWAY_UNACCEPTABLE,
	/*
	 * A segment that is not processed: a wrong checksum, IPv4 options or IPv6 extension
	 * headers, or TCP options that are malformed or a signature.
	 */
	XWAY_REFUSED,
};
#define XWAY_REASONS (XWAY_REFUSED + 1)

/* RFC 9293, section 3.3.2: the states of an active opener; IDLE has not been opened yet. */
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
	/* It has not ended. */
	TCP_END_NONE,
	/* Both FINs were acknowledged. */
	TCP_END_CLOSED,
	/* RST in answer to the SYN. */
	TCP_END_REFUSED,
	/* RST after the handshake. */
	TCP_END_RESET,
	/* No SYN was answered. */
	TCP_END_UNANSWERED,
	/* No answer for too long. */
	TCP_END_TIMED_OUT,
	/* Reset by us. */
	TCP_END_ABORTED,
};
#define TCP_ENDS (TCP_END_ABORTED + 1)

enum tcp_algorithm {
	TCP_ALGORITHM_NEW_RENO,
	TCP_ALGORITHM_CUBIC,
};

/* The phase of the run, which user space advances. */
enum tcp_phase {
	/* Flows are opened and send. */
	TCP_PHASE_RUN,
	/* No flow is opened; flows send a FIN after the data that they have sent. */
	TCP_PHASE_FINISH,
	/* The remaining flows are reset. */
	TCP_PHASE_ABORT,
	/* Frames are returned immediately. */
	TCP_PHASE_HALT,
};

/* Whether lost data must be retransmitted. */
enum tcp_recovery {
	TCP_RECOVERY_NONE,
	/* Fast recovery: later segments have arrived. */
	TCP_RECOVERY_FAST,
	/* After a timeout: all outstanding data is considered lost. */
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
/* The flow is in the ready ring. */
#define TCP_HAS_PLACE 4
/* A segment is being timed, without timestamps. */
#define TCP_HAS_TIMING 8

/* Maximum number of ranges of a flow's data that have arrived after a hole. */
#define TCP_RANGES 16

/* Deadlines in one element of `tcp_deadlines`: a cache line. */
#define TCP_DEADLINES 16

/* Constant for a run; `tcp_config` in .rodata. */
struct tcp_config {
	/* The first address of the destination, as in a frame. */
	__u8 macs[12];
	/* The first flow's address; IPv4 in the first word. */
	__be32 source[4];
	__be32 destination[4];
	__be16 port;
	__u16 first_port;
	/* Number of ports of an address. */
	__u32 ports;
	__u32 flows;
	/* Number of flows of a sender. */
	__u32 share;
	/* Entries of a sender in `tcp_ready`: a power of two, at least `share`. */
	__u32 ring;
	/* Number of this sender. */
	__u32 sender;
	/* Frames leave through this interface. */
	__u32 ifindex;
	/* Mixed into initial sequence numbers. */
	__u32 seed;
	/* MSS of both directions, as in the MSS option: without options. */
	__u16 mss;
	__u8 ipv6;
	/* enum tcp_algorithm */
	__u8 algorithm;
	/* Number of frames that are prepared together. */
	__u32 batch;
	/* Maximum number of segments of a burst. */
	__u32 quantum;
	/* Segments of the initial window. */
	__u32 initial;
	/* Consecutive timeouts without an answer until the flow is aborted. */
	__u32 retries;
	/* Bytes of payload of a flow. */
	__u64 bytes;
	__u64 least_timeout;
	__u64 time_wait;
	/* Start of this run; deadlines count from here. */
	__u64 start;
	/* Time between two SYNs of this sender, in units of 2^-16 ns. */
	__u64 open_interval;
	/* Time of a byte of payload, in units of 2^-16 ns; 0 if only windows limit the rate. */
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

/* The state of connection n. */
struct tcp_flow {
	/* Sent and not acknowledged: [una, nxt). */
	__u64 una;
	__u64 nxt;
	/* Bytes of payload before the FIN. */
	__u64 limit;
	/* The receiver accepts data before this position. */
	__u64 edge;
	/* Recovery ends when una reaches this position. */
	__u64 recover;
	/* Data before it, and in no range, is lost; it was retransmitted up to `repeated`. */
	__u64 lost;
	__u64 repeated;
	/* The value of nxt at the last retransmission. */
	__u64 repeated_at;
	/* The congestion window limited the data before this position. */
	__u64 limited;

	/* When the timer expires; its purpose follows from the state. 0: it is not running. */
	__u64 deadline;
	__u64 opened;
	__u64 established;
	/* Time of the last acknowledgement of new data. */
	__u64 progress;
	__u64 ended;
	/* Smoothed round-trip time and its variation; the timeout without backoff. */
	__u64 rtt;
	__u64 rtt_variation;
	__u64 timeout;
	/* Without timestamps: when `timed` was sent. */
	__u64 timed;
	__u64 timed_at;

	/* CUBIC: start of this epoch; 0 between epochs. */
	__u64 epoch;
	/* Time from there to the plateau, in 1/1024 s. */
	__u64 plateau;
	/* Acknowledged bytes that the window has not grown for yet. */
	__u64 credit;

	__u64 segments;
	__u64 data_segments;

	__u32 iss;
	__u32 rcv_nxt;
	/* Sequence number of the segment that the window was taken from (SND.WL1). */
	__u32 window_seq;
	/* The receiver's window, and its largest value so far. */
	__u32 window;
	__u32 window_most;
	/* The peer's timestamp that is echoed. */
	__u32 ts_recent;
	/* Sequence number of the RST that is owed. */
	__u32 reset_seq;
	__u32 cwnd;
	__u32 ssthresh;
	/* CUBIC: window before the last reduction, at the plateau, and the one of NewReno. */
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
	/* Number of used entries of `range`. */
	__u8 ranges;
	/* Duplicate acknowledgements, counted without SACK. */
	__u8 duplicates;
	/* Timeouts that doubled the timer; timeouts since the last answer. */
	__u8 backoff;
	__u8 silent;
	/* Sorted by position; never adjacent. */
	struct tcp_range range[TCP_RANGES];
};
_Static_assert(sizeof(struct tcp_flow) == 528, "no hidden padding");

/* Segments that were taken from a flow and are written one per frame. */
struct tcp_burst {
	/* The next position to write, the one after the last, and that of the FIN. */
	__u64 seq;
	__u64 end;
	__u64 fin;
	__u32 flow;
	__u32 iss;
	/* Number of frames to write. */
	__u32 left;
	__be32 source;
	__be32 ack;
	__be32 ts_value;
	__be32 ts_echo;
	__be16 port;
	__u16 mss;
	/* Sums of the constant parts of all segments: of TCP, of the IPv4 header. */
	__u32 sum;
	__u32 ip_sum;
	/* Bytes 13 and 12 of the TCP header: flags, and its length in 32-bit words. */
	__u8 flags;
	__u8 words;
	__u8 zero[6];
};
_Static_assert(sizeof(struct tcp_burst) == 72, "no hidden padding");

/* A sender: an element of `tcp_senders`. */
struct tcp_sender {
	/* Runs since the start of the call; user space sets it to 0 before each call. */
	__u64 runs;
	/* Runs that sent a segment. */
	__u64 sent;
	/* The last run that sent a segment. */
	__u64 last;
	/* Position in the ready ring. */
	__u64 head;
	/* When timers and openings are checked next. */
	__u64 look;
	/* When the next burst may leave, and the next SYN, in units of 2^-16 ns since the start. */
	__u64 due;
	__u64 open_due;
	/* Flows opened so far, of this sender. */
	__u32 opened;
	/* The phase that the sweep is for, and its progress. */
	__u32 phase;
	__u32 swept;
	/* Next element of `tcp_deadlines`. */
	__u32 line;
	/* No more segments are sent in this batch. */
	__u32 idle;
	__u32 zero;
	struct tcp_burst burst;
};
_Static_assert(sizeof(struct tcp_sender) == 152, "no hidden padding");

/* Counters of each processor; the one element of `tcp_totals`. */
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
