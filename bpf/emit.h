// What every program of ours uses: the maps that are shared, counting, and
// copying a buffer of the process into the data ring.
#ifndef LAMBDAC_EMIT_H
#define LAMBDAC_EMIT_H

#include "events.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// Set by the loader before the programs are verified.
volatile const __u32 call_cap = CALL_CAP_DEFAULT;

// Set by the loader while programs run. Each object has its own; the loader
// writes both.
volatile __u32 own_tgid; // in the initial PID namespace
volatile __u32 ladder_step;

// Sizes are the loader's.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} data_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} control_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * COUNT_MAX);
	__type(key, __u32);
	__type(value, struct lc_count);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sequence SEC(".maps");

// The socket that a thread (C: {pid_tgid, 0}) or goroutine (Go: {tgid << 32,
// g}) used while it was inside a function of a TLS library. The library's
// program makes the entry, with cookie 0, at the function's entry and takes it
// away at its exit; the socket's program fills it in.
struct nest_key {
	__u64 thread, g;
};

struct nest {
	__u64 cookie;   // of the last socket used
	__u32 calls;    // sockets used
	__u32 filtered; // of them, those that the filters leave out
	__u32 flags;    // CONN_… of the last
	__u32 pad;
};

// Of threads that end inside a function, entries are left: the oldest go.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct nest_key);
	__type(value, struct nest);
} nested SEC(".maps");

static __always_inline void count(__u32 what, __u32 dir, __u64 events, __u64 bytes)
{
	__u32 key = 2 * what + (dir & 1);
	struct lc_count *c = bpf_map_lookup_elem(&counters, &key);

	if (c) {
		c->events += events;
		c->bytes += bytes;
	}
}

static __always_inline __u64 next_seq(void)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&sequence, &key);

	return n ? __sync_fetch_and_add(n, 1) : 0;
}

// A call on a stream, on its way into the ring.
struct emission {
	__u64 cookie, pos, time, ssl;
	__u64 base;       // the process's buffer from here on
	__u64 len;        // bytes of it
	__u64 iov;        // the next element of its array of buffers
	__u32 iovs;       // how many are left
	__u32 left;       // bytes of the call that are still to be copied
	__u32 call, chunk;
	__u32 generation;
	__u32 lost;       // bytes behind them that are not copied, and why
	__u8 source, dir, stop, why;
};

// Functions that are not static are verified once, whatever their callers give
// them; static ones anew on each path that leads to them, which is what makes
// verifying slow. Static are those that take pointers of the kernel or go on
// with a pointer to the stack, as bpf_loop wants it.

// Records never wake the reader, which looks every few milliseconds: a wake-up
// would be at the cost of the process that is watched.

static __always_inline void fill_header(struct lc_data *d, const struct emission *e, __u32 want, __u32 why)
{
	__u64 id = bpf_get_current_pid_tgid();

	d->version = EVENT_VERSION;
	d->kind = EVENT_DATA;
	d->source = e->source;
	d->dir = e->dir;
	d->why = why;
	d->cookie = e->cookie;
	d->pos = e->pos;
	d->time = e->time;
	d->want = want;
	d->have = why ? 0 : want;
	d->chunk = e->chunk;
	d->call = e->call;
	d->tgid = id >> 32;
	d->tid = (__u32)id;
	d->cpu = bpf_get_smp_processor_id();
	d->generation = e->generation;
	d->seq = next_seq();
	d->ssl = e->ssl;
}

// One record of a constant size with n ≤ size - header bytes from e->base.
// Returns 0 where the ring was full. What cannot be read is a record too: it
// tells where the hole is.
#define EMIT_CLASS(size)                                                                     \
	__noinline int emit_##size(struct emission *e, __u32 n)                        \
	{                                                                                     \
		struct lc_data *d;                                                            \
		__u32 have = n;                                                               \
                                                                                              \
		if (!e)                                                                       \
			return 0;                                                             \
		/* The compiler knows the bound from the callers; the verifier must see it. */ \
		asm volatile("" : "+r"(n));                                                   \
		if (n > (size) - sizeof(*d))                                                  \
			return 0;                                                             \
		d = bpf_ringbuf_reserve(&data_ring, (size), 0);                               \
		if (!d) {                                                                     \
			next_seq();                                                           \
			return 0;                                                             \
		}                                                                             \
		fill_header(d, e, n, 0);                                                      \
		if (bpf_probe_read_user((void *)(d + 1), n, (const void *)e->base)) {         \
			d->have = have = 0;                                                   \
			d->why = COUNT_EFAULT;                                                \
			count(COUNT_EFAULT, e->dir, 1, n);                                    \
		}                                                                             \
		bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);                                           \
		count(COUNT_HAVE, e->dir, 1, have);                                           \
		return 1;                                                                     \
	}

EMIT_CLASS(512)
EMIT_CLASS(2048)
EMIT_CLASS(8192)
EMIT_CLASS(32768)

// A record without bytes: n bytes of the stream are not copied.
__noinline int emit_hole(struct emission *e, __u32 n, __u32 why)
{
	struct lc_data *d;

	if (!e)
		return 0;
	d = bpf_ringbuf_reserve(&data_ring, sizeof(*d), 0);
	if (!d) {
		next_seq();
		return 0;
	}
	fill_header(d, e, n, why);
	bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);
	return 1;
}

// Copies the next n bytes at e->base; 0 where the ring was full.
static __always_inline int emit_chunk(struct emission *e, __u32 n)
{
	if (n <= 512 - sizeof(struct lc_data))
		return emit_512(e, n);
	if (n <= 2048 - sizeof(struct lc_data))
		return emit_2048(e, n);
	if (n <= 8192 - sizeof(struct lc_data))
		return emit_8192(e, n);
	return emit_32768(e, n);
}

// One step of emit_buffers: the next chunk, or the next buffer.
static long emit_step(__u64 index, void *ctx)
{
	struct emission *e = ctx;
	struct user_iovec v;
	__u32 n;

	if (e->left == 0)
		return 1;
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
	if (!emit_chunk(e, n)) {
		count(COUNT_RING_FULL, e->dir, 1, e->left + e->lost);
		e->stop = 1;
		return 1;
	}
	e->base += n;
	e->len -= n;
	e->pos += n;
	e->left -= n;
	e->chunk++;
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
static __always_inline __u64 first_bytes(const struct emission *e, __u32 n)
{
	struct user_iovec v;

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

// Shortens a call as the ladder has it.
static __always_inline void press(struct emission *e)
{
	__u32 step = ladder_step, keep = ~0u;

	if (step == LADDER_SAMPLE)
		step = (e->cookie * 0x9e3779b97f4a7c15ull) >> 63 ? LADDER_HEADS : LADDER_CAP;
	if (step == LADDER_CAP)
		keep = LADDER_CAP_BYTES;
	else if (step == LADDER_HEADS)
		keep = starts_message(e) ? LADDER_HEAD_BYTES : 0;
	else if (step == LADDER_STARTS)
		keep = starts_message(e) ? LADDER_START_BYTES : 0;
	else if (step >= LADDER_DETACH)
		keep = 0;
	if (e->left <= keep)
		return;
	if (step >= LADDER_DETACH) {
		count(COUNT_LADDER, e->dir, 1, e->left + e->lost);
		e->stop = 1;
		return;
	}
	e->lost += e->left - keep;
	e->left = keep;
	e->why = COUNT_LADDER;
}

// Sends what a call moved on a stream. The caller has set the stream, pos
// (before the call), call = left = its bytes, and the buffers.
static __always_inline void emit_call(struct emission *e)
{
	count(COUNT_WANT, e->dir, 1, e->call);
	cap_call(e);
	if (ladder_step)
		press(e);
	if (!e->stop)
		emit_buffers(e);
}

// An event of the control ring, all zero, which end_control sends; NULL where
// the ring is full. It is made in place, since it is a good part of the stack.
static __always_inline struct lc_control *begin_control(void)
{
	struct lc_control *c = bpf_ringbuf_reserve(&control_ring, sizeof(*c), 0);

	if (!c) {
		count(COUNT_CONTROL_FULL, 0, 1, 0);
		return NULL;
	}
	__builtin_memset(c, 0, sizeof(*c));
	c->version = EVENT_VERSION;
	return c;
}

static __always_inline void end_control(struct lc_control *c)
{
	bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
}

#endif
