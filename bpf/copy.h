// The bytes of a call on their way into the ring: which of them, under pressure,
// and in which records.
#ifndef LAMBDAC_COPY_H
#define LAMBDAC_COPY_H

#include "gather.h"

// Counts n bytes of which a record has some, and goes on behind them, or stops
// where the ring was full.
static __always_inline int emitted(struct emission *e, __u32 n, int have)
{
	if (have == FULL) {
		count(COUNT_RING_FULL, e->dir, 1, e->left + e->lost);
		e->stop = 1;
		return 1;
	}
	count(COUNT_HAVE, e->dir, 1, have);
	if (have < n)
		count(COUNT_EFAULT, e->dir, 1, n - have);
	e->pos += n;
	e->left -= n;
	e->chunk++;
	return 0;
}

// One step of emit_buffers: the next chunk, the next small buffers together, or
// the next buffer.
static long emit_step(__u64 index, void *ctx)
{
	struct emission *e = ctx;
	struct user_iovec v;
	__u32 n;

	if (e->left == 0)
		return 1;
	if (e->iovs + (e->len > 0) > 1 && e->len <= GATHER_BYTES) {
		n = e->left <= GATHER_BYTES && e->iovs <= GATHER_BUFFERS ? e->left : gatherable(e);
		if (n)
			return emitted(e, n, n <= GATHER_FEW ? gather_1024(e, n) : gather_4096(e, n));
	}
	if (e->len == 0) {
		if (e->iovs == 0)
			return 1;
		if (bpf_probe_read_user(&v, sizeof(v), (const void *)e->iov))
			return 1;
		e->iov += sizeof(v);
		e->iovs--;
		e->base = v.base;
		e->len = v.len;
		return 0;
	}
	n = e->left < CHUNK_MAX ? e->left : CHUNK_MAX;
	if (e->len < n)
		n = e->len;
	if (emitted(e, n, emit_chunk(e, n)))
		return 1;
	e->base += n;
	e->len -= n;
	return 0;
}

// The most steps of one call: the default cap in the largest chunks, and 1,024
// buffers with as many steps to reach them.
#define EMIT_STEPS 4096

// Copies the e->left bytes at e->base (e->len bytes) and in the e->iovs
// buffers listed at e->iov into the data ring, and says what of it, and of the
// e->lost bytes behind it, could not be. Positions and COUNT_WANT are the
// caller's.
static __always_inline void emit_buffers(struct emission *e)
{
	bpf_loop(EMIT_STEPS, emit_step, e, 0);
	if (e->stop)
		return;
	if (e->left) { // more buffers than steps, or a list that cannot be read
		count(COUNT_IOV_LIMIT, e->dir, 1, e->left);
		emit_hole(e, e->left, COUNT_IOV_LIMIT);
		e->pos += e->left;
	}
	if (e->lost) {
		count(e->why, e->dir, 1, e->lost);
		emit_hole(e, e->lost, e->why);
	}
}

// Shortens a call to the cap.
static __always_inline void cap_call(struct emission *e)
{
	if (e->left <= call_cap)
		return;
	e->lost = e->left - call_cap;
	e->left = call_cap;
	e->why = COUNT_CAP;
}

// Where a call's first n bytes are: in the first of its buffers that is not
// empty; 0 where that one is shorter.
__noinline __u64 first_bytes(const struct emission *e, __u32 n)
{
	struct user_iovec v;

	if (!e)
		return 0;
	if (e->len)
		return e->len < n ? 0 : e->base;
	for (__u32 i = 0; i < 4 && i < e->iovs; i++) {
		if (bpf_probe_read_user(&v, sizeof(v), (const void *)(e->iov + i * sizeof(v))))
			return 0;
		if (v.len)
			return v.len < n ? 0 : v.base;
	}
	return 0;
}

// Whether bytes begin a message of HTTP/1, whose head is kept under pressure.
static __always_inline int starts_message(const struct emission *e)
{
	__u8 b[8] = {};

	if (bpf_probe_read_user(b, sizeof(b), (const void *)first_bytes(e, sizeof(b))))
		return 0;
	if (b[0] == 'H' && b[1] == 'T' && b[2] == 'T' && b[3] == 'P' && b[4] == '/')
		return 1;
	// A method: GET, POST, PUT, HEAD, DELETE, PATCH, OPTIONS, CONNECT.
	return b[0] >= 'A' && b[0] <= 'Z' && b[1] >= 'A' && b[1] <= 'Z' && b[2] >= 'A' && b[2] <= 'Z';
}

#define H2_HEADER 9 // of a frame
#define H2_WATCHED (64 << 10) // bytes in which a frame is looked for where the beginning was not seen

// Whether bytes are the beginning of HTTP/2's preface, or of a frame whose type,
// flags, stream and length go together (RFC 9113, 6).
__noinline int speaks_h2(__u64 at)
{
	__u8 b[H2_HEADER] = {};
	__u32 n, stream;

	if (!at || bpf_probe_read_user(b, sizeof(b), (const void *)at))
		return 0;
	if (b[0] == 'P' && b[1] == 'R' && b[2] == 'I' && b[3] == ' ' && b[4] == '*')
		return 1;
	if (b[0] || b[4] & ~0x2d || b[5] & 0x80)
		return 0;
	n = b[1] << 8 | b[2];
	stream = b[5] << 24 | b[6] << 16 | b[7] << 8 | b[8];
	switch (b[3]) {
	case 0: // DATA, HEADERS, CONTINUATION
	case 1:
	case 9:
		return stream != 0;
	case 3: // RST_STREAM
		return stream && n == 4;
	case 4: // SETTINGS
		return !stream && n % 6 == 0;
	case 6: // PING
		return !stream && n == 8;
	case 7: // GOAWAY
		return !stream && n >= 8;
	case 8: // WINDOW_UPDATE
		return n == 4;
	}
	return 0;
}

// What is kept of a call of HTTP/2. Header blocks must be whole, or no later one
// of the connection could be read: only a call that is one frame with a body's
// bytes is cut, behind its head.
static __always_inline __u32 keep_frames(const struct emission *e)
{
	__u8 b[H2_HEADER] = {};
	__u32 n;

	if (bpf_probe_read_user(b, sizeof(b), (const void *)first_bytes(e, sizeof(b))))
		return LADDER_HEAD_BYTES;
	n = b[0] << 16 | b[1] << 8 | b[2];
	return b[3] == 0 && n + H2_HEADER == e->left + e->lost ? H2_HEADER : LADDER_HEAD_BYTES;
}

// Shortens a call as the ladder has it.
static __always_inline void press(struct emission *e)
{
	__u32 step = ladder_step, keep = ~0u;

	if (step == LADDER_SAMPLE)
		step = (e->cookie * 0x9e3779b97f4a7c15ull) >> 63 ? LADDER_HEADS : LADDER_CAP;
	if (step == LADDER_CAP)
		keep = LADDER_CAP_BYTES;
	else if (step >= LADDER_HEADS && e->h2)
		keep = keep_frames(e);
	else if (step >= LADDER_HEADS)
		keep = !starts_message(e) ? 0 : step == LADDER_HEADS ? LADDER_HEAD_BYTES : LADDER_START_BYTES;
	if (e->left <= keep)
		return;
	e->lost += e->left - keep;
	e->left = keep;
	e->why = COUNT_LADDER;
}

// Says where the bytes are of which the ladder left no record: right before
// what comes now. Where the ring is full, they are a hole like others.
static __always_inline void tell_skipped(struct emission *e, __u64 *skipped)
{
	__u64 n = *skipped, pos = e->pos;

	*skipped = 0;
	if (n > 0xffffffff)
		n = 0xffffffff;
	e->pos = pos - n;
	emit_hole(e, n, COUNT_LADDER);
	e->pos = pos;
}

// Sends what a call moved on a stream. The caller has set the stream, pos
// (before the call), call = left = its bytes, and the buffers. skipped are the
// bytes before pos of which there is no record.
static __always_inline void emit_call(struct emission *e, __u64 *skipped)
{
	count(COUNT_WANT, e->dir, 1, e->call);
	if (ladder_step >= LADDER_DETACH) {
		count(COUNT_LADDER, e->dir, 1, e->call);
		__sync_fetch_and_add(skipped, e->call);
		return;
	}
	if (*skipped)
		tell_skipped(e, skipped);
	cap_call(e);
	if (ladder_step)
		press(e);
	emit_buffers(e);
}

#endif
