// The calls of TLS libraries that are under way, from their entry to their end.
#ifndef LAMBDAC_TLSCALLS_H
#define LAMBDAC_TLSCALLS_H

#include "emit.h"

// The values are those of package tlslib.
enum tls_func {
	SSL_READ = 1,
	SSL_READ_EX,
	SSL_WRITE,
	SSL_WRITE_EX,
	SSL_READ_EARLY,
	SSL_WRITE_EARLY,
	SSL_HANDSHAKE,
	SSL_SET_FD,
	SSL_SET_RFD,
	SSL_SET_WFD,
	SSL_SET_BIO,
	SSL_FREE,
	BIO_WRITE,
	GO_READ,
	GO_WRITE,
};

// A call under way.
struct tls_call {
	__u64 object;
	__u64 buf;
	__u64 out;   // where the count of bytes goes; Go: the top of its stack at the entry
	__u64 stack; // the stack pointer at the entry
	__u32 func;
	__u32 inner; // within another call that moves the same bytes
};

// The calls under way of a thread or goroutine, innermost last: libraries call
// each other, and themselves.
#define CALLS 4
struct tls_calls {
	__u32 depth, pad;
	struct tls_call call[CALLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct nest_key);
	__type(value, struct tls_calls);
} tls_calls SEC(".maps");

static __always_inline int is_write(__u32 func)
{
	return func == SSL_WRITE || func == SSL_WRITE_EX || func == SSL_WRITE_EARLY || func == GO_WRITE;
}

static __always_inline int moves(__u32 func)
{
	return func <= SSL_WRITE_EARLY || func >= GO_READ;
}

// Notes a call; 0 where it need not be looked at when it ends.
static __always_inline int push(struct nest_key *thread, const struct tls_call *call)
{
	struct tls_calls *calls = bpf_map_lookup_elem(&tls_calls, thread), fresh = {};
	struct tls_call *top;
	__u32 inner = 0, d;

	if (!calls) {
		fresh.depth = 1;
		fresh.call[0] = *call;
		bpf_map_update_elem(&tls_calls, thread, &fresh, BPF_ANY);
		return 1;
	}
	// Calls that were left without a return, as by longjmp, and this one where
	// it was noted already: one file may have two numbers.
	for (int i = 0; i < CALLS; i++) {
		d = calls->depth;
		if (d == 0 || d > CALLS)
			break;
		top = &calls->call[(d - 1) & (CALLS - 1)];
		if (thread->g ? top->stack != call->stack : top->stack > call->stack)
			break;
		calls->depth = d - 1;
	}
	d = calls->depth;
	if (d > 0 && d <= CALLS) {
		top = &calls->call[(d - 1) & (CALLS - 1)];
		inner = top->object == call->object && moves(top->func) && is_write(top->func) == is_write(call->func);
	}
	if (d >= CALLS) {
		calls->depth = 0;
		d = 0;
	}
	calls->call[d & (CALLS - 1)] = *call;
	calls->call[d & (CALLS - 1)].inner = inner;
	calls->depth = d + 1;
	return 1;
}

// Takes the call that ends; 0 where it was not noted.
static __always_inline int pop(struct nest_key *thread, __u32 func, __u64 stack, struct tls_call *call)
{
	struct tls_calls *calls = bpf_map_lookup_elem(&tls_calls, thread);
	struct tls_call *top;
	__u32 d;

	if (!calls)
		return 0;
	for (int i = 0; i < CALLS; i++) {
		d = calls->depth;
		if (d == 0 || d > CALLS)
			return 0;
		top = &calls->call[(d - 1) & (CALLS - 1)];
		// A uretprobe sees the stack behind the return address, a probe at
		// the return before it.
		if (!thread->g && top->stack > stack)
			return 0;
		calls->depth = d - 1;
		if (top->func == func && (thread->g || stack - top->stack <= 8)) {
			*call = *top;
			return 1;
		}
	}
	return 0;
}

#endif
