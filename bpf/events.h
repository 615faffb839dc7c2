// What the kernel side says to user space, and by which maps: the one place
// where both sides agree. event.go and counter.go read this layout.
//
// Two objects are loaded. core.bpf.c sees sockets: system calls, the life of
// connections, those that are open at the start. A second one, for TLS
// libraries, adds its own programs and maps. Both include emit.h, and the
// loader gives the second the maps of the first by name (MapReplacements), so
// that there is one data ring, one control ring and one set of counters.
//
// Data ring: records of kind EVENT_DATA, each a header and up to CHUNK_MAX
// bytes. Records are of a few constant sizes, so what follows the header's
// `have` bytes is of no meaning. Control ring: records of the other kinds, all
// of the size of lc_control. Times are CLOCK_BOOTTIME, taken at the exit of the
// system call or library function. Nothing waits for user space: what finds a
// ring full is counted. Starts and ends that find the control ring full go into
// the map `spilled`; what else does is told by the end, whose flags say what was.
//
// Positions: pos[dir] of a stream advances by what a call returned, at once
// and whether or not the bytes could be copied, so that a hole has its place
// and its length. Over all streams, per direction,
//
//	WANT = HAVE + the sum of the reasons COUNT_RING_FULL … COUNT_IGNORED
//
// in bytes, where HAVE is what user space finds in the data ring.
#ifndef LAMBDAC_EVENTS_H
#define LAMBDAC_EVENTS_H

#include "kernel.h"

#define EVENT_VERSION 1

// Directions, as in package recorder. A server's reads are TO_SERVER; of a
// connection that its process opened, the writes are.
#define DIR_TO_SERVER 0
#define DIR_TO_CLIENT 1

enum event_kind {
	EVENT_DATA = 1,
	// The first sign of a connection: comes before its data. ssl is the
	// socket's address.
	EVENT_OPEN = 2,
	// The end of direction dir: its length is seq_pos[dir], where known.
	EVENT_FIN = 3,
	// The sender of direction dir broke the connection off.
	EVENT_RST = 4,
	// The socket is gone: for good, or with CONN_CLOSED but for calls under
	// way, and once more after these. ssl is the socket's address.
	EVENT_CLOSE = 5,
	// The connection turned out to be TLS: no raw bytes follow.
	EVENT_TLS = 6,
	// A process ended (tgid).
	EVENT_EXIT = 7,
	// A stream of a TLS library (ssl, generation, tgid) belongs to cookie.
	EVENT_BIND = 8,
	// A stream of a TLS library ended; pos are its lengths.
	EVENT_UNBIND = 9,
	// A process (tgid) runs code of a file (inode ssl, device start) that user
	// space does not know.
	EVENT_CODE = 10,
};

enum event_source {
	SOURCE_PLAIN = 0,
	SOURCE_SSL = 1,
	SOURCE_GO = 2,
};

// Flags of connections.
#define CONN_LATE 1    // it was open before it was seen: position 0 is its first byte seen
#define CONN_CLIENT 2  // the process opened it
#define CONN_TLS 4
#define CONN_OPENED 8  // EVENT_OPEN was sent
#define CONN_UNIX 16
#define CONN_SEQ 32    // base holds
#define CONN_FIN_IN 64
#define CONN_FIN_OUT 128
#define CONN_CLOSED 512 // its state is closed; a call that is under way may still tell of bytes
#define CONN_FOREIGN 1024 // handed on to a process that the filters leave out
#define CONN_BOUND 256 // a library's object is known to be its TLS, or is about to be
#define CONN_PEER_FIRST 2048 // the other side's FIN came before ours
#define CONN_RST_IN 4096     // the other side broke it off
#define CONN_RST_OUT 8192
#define CONN_H2 16384 // HTTP/2 speaks on it

#define CHUNK_MAX 32688 // the largest record is 32 KiB

// The most that is copied of one call; the rest is counted.
#define CALL_CAP_DEFAULT (16 << 20)

struct lc_data {
	__u8 version, kind, source, dir;
	__u32 why;        // the counter of the reason for which have < want
	__u64 cookie;     // 0 = not bound to a connection
	__u64 pos;        // of the first byte
	__u64 time;       // boottime, ns
	__u32 want, have; // bytes of the stream; bytes that follow
	__u32 chunk;      // number within its call, from 0
	__u32 call;       // bytes of the whole call
	__u32 tgid, tid;
	__u32 cpu;
	__u32 generation; // of ssl, which is used again
	__u64 seq;        // per CPU, of all records tried
	__u64 ssl;        // the library's object; 0 in plain streams
};

_Static_assert(sizeof(struct lc_data) == 80, "event.go reads 80 bytes");

struct lc_control {
	__u8 version, kind, source, dir;
	__u32 flags; // CONN_…
	__u64 cookie;
	__u64 time;
	__u64 start;      // EVENT_OPEN: when it was established, or first seen
	__u64 pos[2];     // what calls moved, by direction
	__u64 seq_pos[2]; // the same by TCP's own count, with CONN_SEQ
	__u64 acked;      // TCP's own count of bytes that the other side has received;
			  // EVENT_OPEN: when it was accepted, 0 = not seen
	__u32 tgid, tid;
	__u32 family, netns;
	__u16 local_port, remote_port; // host order
	__u32 peer_tgid;               // AF_UNIX
	__u8 local[16], remote[16];    // IPv4: the first 4 bytes
	__u64 ssl;
	__u32 generation;
	__u32 error;   // EVENT_CLOSE: the socket's, an errno
	char comm[16]; // EVENT_OPEN: the thread's name
	// The bytes before pos of which the ladder left no record.
	__u64 skipped[2];
};

_Static_assert(sizeof(struct lc_control) == 176, "event.go reads 176 bytes");

// Counters, each per direction: events and bytes.
enum counter {
	COUNT_WANT = 0,
	COUNT_HAVE = 1,
	// Reasons for which bytes of a wanted stream are not in the ring.
	COUNT_RING_FULL = 2,
	COUNT_EFAULT = 3,
	COUNT_CAP = 4,
	COUNT_IOV_LIMIT = 5,
	COUNT_LADDER = 6,
	COUNT_SENDFILE = 7,
	COUNT_SPLICE = 8,
	COUNT_DISCARDED = 9, // MSG_TRUNC: the process did not want them either
	COUNT_RAW_TLS = 10,
	COUNT_FOREIGN = 11, // moved by a process that the filters leave out
	COUNT_IGNORED = 12, // of connections that user space makes nothing of
	// Not part of the identity.
	COUNT_FILTERED = 13,
	COUNT_CONTROL_FULL = 14,
	COUNT_CONNS_FULL = 15,
	COUNT_COMPAT = 16,   // calls of 32-bit processes
	COUNT_IO_URING = 17, // calls of io_uring_enter
	COUNT_MPTCP = 18,
	COUNT_UNREAD = 19,   // came, and the process closed without reading them
	COUNT_UNBOUND = 20,  // bytes of TLS libraries without a connection
	COUNT_STRAY = 21,    // their descriptor was another connection's when the call ended
	COUNT_ENDS_LOST = 22, // starts and ends that found the ring and the map full
	COUNT_QUIC = 23,      // datagrams of UDP servers on port 443
	COUNT_MAX = 24,
};

struct lc_count {
	__u64 events, bytes;
};

// Steps of the ladder; see emit.h.
enum ladder {
	LADDER_ALL = 0,
	LADDER_CAP = 1,     // bodies beyond LADDER_CAP_BYTES a call are left out
	LADDER_SAMPLE = 2,  // half of the connections: heads only
	LADDER_HEADS = 3,   // all: heads, lengths, times; HTTP/2: all but bodies
	LADDER_STARTS = 4,  // all: start lines; HTTP/2 as before
	LADDER_DETACH = 5,  // nothing but counts
};
#define LADDER_CAP_BYTES 65536
#define LADDER_HEAD_BYTES 16384
#define LADDER_START_BYTES 1024

// What the filters say of the process that uses a connection first.
enum verdict {
	VERDICT_UNDECIDED = 0,
	VERDICT_WANT = 1,
	VERDICT_IGNORE = 2,
};

#endif
