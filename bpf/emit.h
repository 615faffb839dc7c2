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

// Starts and ends that found the control ring full, by number.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, 1); // BPF_F_NO_PREALLOC
	__type(key, __u64);
	__type(value, struct lc_control);
} spilled SEC(".maps");

// How many there have been.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} spills SEC(".maps");

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

static __always_inline void add(__u32 what, __u32 dir, __u64 events, __u64 bytes)
{
	__u32 key = 2 * what + (dir & 1);
	struct lc_count *c = bpf_map_lookup_elem(&counters, &key);

	if (c) {
		c->events += events;
		c->bytes += bytes;
	}
}

__noinline int count(__u32 what, __u32 dir, __u64 events, __u64 bytes)
{
	add(what, dir, events, bytes);
	return 0;
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
	__u32 h2;         // the stream is of HTTP/2
	__u32 pad;
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
// Returns how many of them are in it, FULL where there was no place. What cannot
// be read is a record too: it tells where the hole is.
#define FULL -1
#define EMIT_CLASS(size)                                                                     \
	__noinline int emit_##size(struct emission *e, __u32 n)                              \
	{                                                                                     \
		struct lc_data *d;                                                            \
		__u32 have = n;                                                               \
                                                                                              \
		if (!e)                                                                       \
			return FULL;                                                          \
		/* The compiler knows the bound from the callers; the verifier must see it. */ \
		asm volatile("" : "+r"(n));                                                   \
		if (n > (size) - sizeof(*d))                                                  \
			return FULL;                                                          \
		d = bpf_ringbuf_reserve(&data_ring, (size), 0);                               \
		if (!d) {                                                                     \
			next_seq();                                                           \
			return FULL;                                                          \
		}                                                                             \
		fill_header(d, e, n, 0);                                                      \
		if (bpf_probe_read_user((void *)(d + 1), n, (const void *)e->base)) {         \
			d->have = have = 0;                                                   \
			d->why = COUNT_EFAULT;                                                \
		}                                                                             \
		bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);                                      \
		return have;                                                                  \
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

// Copies the next n bytes at e->base.
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

// An event of the control ring, all zero, which end_control sends; NULL where
// the ring is full. It is made in place, since it is a good part of the stack.
static __always_inline struct lc_control *begin_control(void)
{
	struct lc_control *c = bpf_ringbuf_reserve(&control_ring, sizeof(*c), 0);

	if (!c) {
		add(COUNT_CONTROL_FULL, 0, 1, 0); // a call would be one too many for the stack
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

static const volatile struct lc_control no_control;

// A place for a start or an end that found the ring full, all zero; NULL where
// there is none either. It is there when its version is set, which comes last.
static __always_inline struct lc_control *spill(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&spills, &zero), key;

	if (!n)
		return NULL;
	key = __sync_fetch_and_add(n, 1);
	if (bpf_map_update_elem(&spilled, &key, (const void *)&no_control, BPF_NOEXIST)) {
		add(COUNT_ENDS_LOST, 0, 1, 0);
		return NULL;
	}
	return bpf_map_lookup_elem(&spilled, &key);
}

static __always_inline void end_spill(struct lc_control *c)
{
	*(volatile __u8 *)&c->version = EVENT_VERSION;
}

#endif
