//go:build ignore

// TLS libraries as their callers see them: plaintext at the exit of the
// functions that read and write it, and the socket that each object uses.
// The attach cookie says which function was hit: a value of tls_func.
#include "sock.h"
#include "cipher.h"
#include "tlscalls.h"

char _license[] SEC("license") = "Dual BSD/GPL";

// The arguments of functions, by the System V and the ARM ABI, and by Go's.
#if defined(__TARGET_ARCH_x86)
#define ARG0(regs) ((regs)->di)
#define ARG1(regs) ((regs)->si)
#define ARG2(regs) ((regs)->dx)
#define ARG3(regs) ((regs)->cx)
#define RESULT(regs) ((regs)->ax)
#define GO_ARG0(regs) ((regs)->ax)
#define GO_ARG1(regs) ((regs)->bx)
#define GO_ARG2(regs) ((regs)->cx)
#define STACK(regs) ((regs)->sp)
#else
#define ARG0(regs) ((regs)->regs[0])
#define ARG1(regs) ((regs)->regs[1])
#define ARG2(regs) ((regs)->regs[2])
#define ARG3(regs) ((regs)->regs[3])
#define RESULT(regs) ((regs)->regs[0])
#define GO_ARG0(regs) ((regs)->regs[0])
#define GO_ARG1(regs) ((regs)->regs[1])
#define GO_ARG2(regs) ((regs)->regs[2])
#define STACK(regs) ((regs)->sp)
#endif

struct bio {
	__u64 object;
	__u64 incoming; // the library reads from it
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct stream_key);
	__type(value, struct bio);
} bios SEC(".maps");

__u32 generations;

static __always_inline int watched(__u32 tgid)
{
	return tgid != own_tgid && process_wanted(tgid);
}

// The stream of an object, begun if need be.
static __noinline struct stream *stream_of(struct stream_key *key, __u32 source)
{
	struct stream *s, fresh = {};

	if (!key)
		return NULL;
	s = bpf_map_lookup_elem(&streams, key);
	if (s)
		return s;
	fresh.generation = __sync_fetch_and_add(&generations, 1) + 1;
	fresh.source = source;
	bpf_map_update_elem(&streams, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&streams, key);
}

static __always_inline void forget_bios(const struct stream_key *key, const struct stream *s)
{
	struct stream_key bio = {.tgid = key->tgid, .object = s->rbio};

	if (s->rbio)
		bpf_map_delete_elem(&bios, &bio);
	bio.object = s->wbio;
	if (s->wbio)
		bpf_map_delete_elem(&bios, &bio);
}

static __always_inline void fill_unbind(struct lc_control *e, const struct stream_key *key, const struct stream *s)
{
	e->kind = EVENT_UNBIND;
	e->source = s->source;
	e->cookie = s->cookie;
	e->time = bpf_ktime_get_boot_ns();
	e->pos[0] = s->pos[0];
	e->pos[1] = s->pos[1];
	e->skipped[0] = s->skipped[0];
	e->skipped[1] = s->skipped[1];
	e->tgid = key->tgid;
	e->ssl = key->object;
	e->generation = s->generation;
}

// Ends the stream of an object: what follows at its address is another.
static __noinline int end_stream(struct stream_key *key)
{
	struct lc_control *e;
	struct stream *s;

	if (!key)
		return 0;
	s = bpf_map_lookup_elem(&streams, key);
	if (!s)
		return 0;
	e = begin_control();
	if (e) {
		fill_unbind(e, key, s);
		end_control(e);
	} else {
		e = spill();
		if (e) {
			fill_unbind(e, key, s);
			end_spill(e);
		}
	}
	forget_bios(key, s);
	bpf_map_delete_elem(&streams, key);
	return 0;
}

// The connection of a descriptor: its cookie, 0 where it is none that is seen.
static __noinline __u64 cookie_of(__u32 fd)
{
	struct sock *sk;
	struct conn *c;
	__u64 key, ino = 0;
	__u16 family = 0;

	sk = sock_of(fd, &ino, &family);
	if (!sk)
		return 0;
	key = (__u64)sk;
	c = bpf_map_lookup_elem(&conns, &key);
	if (!c || c->verdict == VERDICT_IGNORE)
		return 0;
	c->flags |= CONN_BOUND;
	return c->cookie;
}

// Sends the n bytes of plaintext that a call moved.
__noinline int send_plain(struct stream_key *key, const struct tls_call *call, __u32 n)
{
	struct emission e = {};
	struct stream_key own; // Linux 6.1 takes no key that a caller's pointer names
	struct stream *s;

	if (!key || !call)
		return 0;
	own = *key;
	s = bpf_map_lookup_elem(&streams, &own);
	if (!s)
		return 0;
	e.dir = is_write(call->func);
	e.pos = __sync_fetch_and_add(&s->pos[e.dir & 1], n);
	if (s->flags & STREAM_FILTERED) {
		count(COUNT_FILTERED, e.dir, 1, n);
		return 0;
	}
	e.cookie = s->cookie;
	if (!e.cookie) {
		count(COUNT_UNBOUND, e.dir, 1, n);
		if (filter_ports) // its port is not known
			return 0;
	}
	e.source = s->source;
	e.time = bpf_ktime_get_boot_ns();
	e.ssl = own.object;
	e.generation = s->generation;
	e.base = call->buf;
	e.len = e.call = e.left = n;
	if (n >= H2_HEADER && e.pos < H2_WATCHED && !(s->flags & STREAM_H2) && speaks_h2(call->buf))
		s->flags |= STREAM_H2;
	e.h2 = s->flags & STREAM_H2;
	emit_call(&e, &s->skipped[e.dir & 1]);
	return 0;
}

// Gives a stream the socket that was used within its call.
static __always_inline void bind_nested(struct stream_key *key, struct nest_key *thread)
{
	struct nest *n = bpf_map_lookup_elem(&nested, thread);
	struct stream *s;

	if (!n)
		return;
	s = bpf_map_lookup_elem(&streams, key);
	if (s && !s->cookie && n->cookie && n->flags & CONN_TLS)
		bind(key, s, n->cookie);
	else if (s && !s->cookie && !n->cookie && n->filtered)
		s->flags |= STREAM_FILTERED;
	bpf_map_delete_elem(&nested, thread);
}

static __always_inline void enter(struct nest_key *thread, struct stream_key *key, struct tls_call *call, __u32 source)
{
	struct stream *s = stream_of(key, source);
	struct nest empty = {};

	if (!s || !push(thread, call))
		return;
	if (!s->cookie)
		bpf_map_update_elem(&nested, thread, &empty, BPF_ANY);
}

static __always_inline void on_set_fd(struct stream_key *key, __u32 fd)
{
	struct stream *s = stream_of(key, SOURCE_SSL);
	__u64 cookie = cookie_of(fd);

	if (!s || !cookie || s->cookie == cookie)
		return;
	if (s->cookie) { // the object is used again
		end_stream(key);
		s = stream_of(key, SOURCE_SSL);
		if (!s)
			return;
	}
	bind(key, s, cookie);
}

static __always_inline void on_set_bio(struct stream_key *key, __u64 rbio, __u64 wbio)
{
	struct stream *s = stream_of(key, SOURCE_SSL);
	struct stream_key at = {.tgid = key->tgid};
	struct bio b = {.object = key->object};

	if (!s)
		return;
	forget_bios(key, s);
	s->rbio = rbio;
	s->wbio = wbio;
	if (rbio == wbio) // a socket's, which other ways find
		return;
	if (wbio) {
		at.object = wbio;
		bpf_map_update_elem(&bios, &at, &b, BPF_ANY);
	}
	if (rbio) {
		at.object = rbio;
		b.incoming = 1;
		bpf_map_update_elem(&bios, &at, &b, BPF_ANY);
	}
}

// Looks at ciphertext on its way into the memory from which an object reads,
// or to which it writes.
static __always_inline void on_bio_write(__u64 tgid, __u64 bio, __u64 buf, int n)
{
	struct stream_key at = {.tgid = tgid, .object = bio};
	struct bio *b = bpf_map_lookup_elem(&bios, &at);
	struct cipher_key key = {.tgid = tgid};
	struct cipher *known, made = {};
	struct stream *s;

	if (!b || n < CIPHER_PREFIX)
		return;
	at.object = made.object = b->object;
	s = bpf_map_lookup_elem(&streams, &at);
	if (!s || s->cookie || s->flags & STREAM_DOUBT)
		return;
	if (bpf_probe_read_user(key.prefix, sizeof(key.prefix), (const void *)buf))
		return;
	if (!b->incoming) {
		bpf_map_update_elem(&ciphers, &key, &made, BPF_ANY);
		return;
	}
	known = bpf_map_lookup_elem(&ciphers, &key);
	if (known && known->cookie && known->cookie != ~0ull)
		bind(&at, s, known->cookie);
}

SEC("uprobe.multi")
int tls_entry(struct pt_regs *regs)
{
	__u32 func = bpf_get_attach_cookie(regs);
	__u64 id = bpf_get_current_pid_tgid();
	struct nest_key thread = {.thread = id};
	struct stream_key key = {.tgid = id >> 32, .object = ARG0(regs)};
	struct tls_call call = {
		.object = key.object, .buf = ARG1(regs), .out = ARG3(regs), .stack = STACK(regs), .func = func,
	};

	if (!watched(key.tgid))
		return 0;
	switch (func) {
	case SSL_SET_FD:
	case SSL_SET_RFD:
	case SSL_SET_WFD:
		on_set_fd(&key, ARG1(regs));
		return 0;
	case SSL_SET_BIO:
		on_set_bio(&key, ARG1(regs), ARG2(regs));
		return 0;
	case SSL_FREE:
		end_stream(&key);
		return 0;
	case BIO_WRITE:
		on_bio_write(key.tgid, ARG0(regs), ARG1(regs), ARG2(regs));
		return 0;
	}
	enter(&thread, &key, &call, SOURCE_SSL);
	return 0;
}

// How many bytes a function of C moved by its result: none where it failed.
static __always_inline __u32 moved_by(const struct tls_call *call, int result)
{
	__u64 n = 0;

	if (result <= 0 || call->inner)
		return 0;
	switch (call->func) {
	case SSL_READ:
	case SSL_WRITE:
		return result;
	case SSL_READ_EX:
	case SSL_WRITE_EX:
	case SSL_READ_EARLY:
	case SSL_WRITE_EARLY:
		if (result != 1 || bpf_probe_read_user(&n, sizeof(n), (const void *)call->out))
			return 0;
		return n > 0x7fffffff ? 0 : n;
	}
	return 0;
}

SEC("uprobe.multi")
int tls_exit(struct pt_regs *regs)
{
	__u32 func = bpf_get_attach_cookie(regs);
	__u64 id = bpf_get_current_pid_tgid();
	struct nest_key thread = {.thread = id};
	struct stream_key key = {.tgid = id >> 32};
	struct tls_call call;
	__u32 n;

	if (key.tgid == own_tgid || !pop(&thread, func, STACK(regs), &call))
		return 0;
	key.object = call.object;
	bind_nested(&key, &thread);
	n = moved_by(&call, RESULT(regs));
	if (n)
		send_plain(&key, &call, n);
	return 0;
}

// A goroutine's stack: its first fields (runtime.g).
struct go_stack {
	__u64 low, high;
};

SEC("uprobe.multi")
int go_entry(struct pt_regs *regs)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct nest_key thread = {.thread = id >> 32 << 32, .g = GOROUTINE(regs)};
	struct stream_key key = {.tgid = id >> 32, .object = GO_ARG0(regs)};
	struct tls_call call = {
		.object = key.object, .buf = GO_ARG1(regs), .stack = STACK(regs), .func = bpf_get_attach_cookie(regs),
	};
	struct go_stack stack;

	if (!thread.g || !watched(key.tgid))
		return 0;
	// A buffer on the stack moves with it.
	if (!bpf_probe_read_user(&stack, sizeof(stack), (const void *)thread.g) && call.buf >= stack.low && call.buf < stack.high)
		call.out = stack.high;
	enter(&thread, &key, &call, SOURCE_GO);
	return 0;
}

// The connection below a *tls.Conn, where that is a *net.TCPConn:
// tls.Conn{conn net.Conn} → net.conn{fd *netFD} → netFD{pfd poll.FD{fdmu 16
// bytes, Sysfd int}}. Of another type, what is read there is no descriptor of a
// TLS connection.
static __always_inline __u64 go_cookie(__u64 conn)
{
	__u64 below = 0, fd = 0;
	__s64 sysfd = -1;

	if (bpf_probe_read_user(&below, sizeof(below), (const void *)(conn + 8)) || !below)
		return 0;
	if (bpf_probe_read_user(&fd, sizeof(fd), (const void *)below) || !fd)
		return 0;
	if (bpf_probe_read_user(&sysfd, sizeof(sysfd), (const void *)(fd + 16)))
		return 0;
	if (sysfd < 0 || sysfd >= 1 << 24)
		return 0;
	return cookie_of(sysfd);
}

// A *tls.Conn has no end that is seen, and its address is used again: the
// socket tells.
static __always_inline void bind_go(struct stream_key *key, struct nest_key *thread)
{
	__u64 cookie = go_cookie(key->object);
	struct stream *s = bpf_map_lookup_elem(&streams, key);

	if (s && s->cookie && cookie && s->cookie != cookie) {
		end_stream(key);
		s = stream_of(key, SOURCE_GO);
	}
	if (s && !s->cookie && cookie)
		bind(key, s, cookie);
	bind_nested(key, thread);
}

SEC("uprobe.multi")
int go_return(struct pt_regs *regs)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct nest_key thread = {.thread = id >> 32 << 32, .g = GOROUTINE(regs)};
	struct stream_key key = {.tgid = id >> 32};
	long n = (long)GO_ARG0(regs);
	struct tls_call call;
	struct go_stack stack;

	if (!pop(&thread, bpf_get_attach_cookie(regs), STACK(regs), &call))
		return 0;
	key.object = call.object;
	bind_go(&key, &thread);
	if (n <= 0 || n > 0x7fffffff || call.inner)
		return 0;
	if (call.out) {
		if (bpf_probe_read_user(&stack, sizeof(stack), (const void *)thread.g))
			return 0;
		call.buf += stack.high - call.out;
	}
	send_plain(&key, &call, n);
	return 0;
}
