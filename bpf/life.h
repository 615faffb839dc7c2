// The starts and the ends of connections.
#ifndef LAMBDAC_LIFE_H
#define LAMBDAC_LIFE_H

#include "call.h"
#include "conn.h"

// The descriptors of AF_UNIX connections, to see them closed: they have no
// tracepoint of their own.
struct fd_key {
	__u32 tgid, fd;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct fd_key);
	__type(value, __u64);
} unix_fds SEC(".maps");

// Whether ports and side of a TCP connection are wanted.
static __always_inline int tcp_wanted(const struct conn *c)
{
	if (!want_tcp)
		return 0;
	if (c->flags & CONN_CLIENT)
		return want_client && port_wanted(c->remote_port);
	return want_server && port_wanted(c->local_port);
}

// Starts a TCP connection at its first moment.
static __noinline int start_tcp(struct sock *sk, __u64 cookie, __u32 client)
{
	struct conn c = {}, *old;
	__u64 key = (__u64)sk;

	old = bpf_map_lookup_elem(&conns, &key);
	if (old && !(old->flags & CONN_CLOSED))
		return 0;
	if (old) // of a socket that had this address
		bpf_map_delete_elem(&conns, &key);
	read_tuple(&c, sk);
	if (client)
		c.flags = CONN_CLIENT;
	if (!tcp_wanted(&c))
		return 0;
	read_base(&c, sk);
	c.cookie = cookie;
	c.start = bpf_ktime_get_boot_ns();
	if (bpf_map_update_elem(&conns, &key, &c, BPF_ANY))
		count(COUNT_CONNS_FULL, 0, 1, 0);
	return 0;
}

static __noinline int fill_event(struct lc_control *e, const struct conn *c, __u32 kind, __u32 dir, __u64 socket)
{
	__u64 id = bpf_get_current_pid_tgid();

	fill_control(e, c, kind, dir);
	if (kind != EVENT_OPEN)
		return 0;
	e->tgid = id >> 32;
	e->tid = (__u32)id;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	e->ssl = socket;
	e->acked = c->accepted;
	if (c->family == AF_UNIX)
		e->peer_tgid = c->netns;
	return 0;
}

// Tells of a connection. Returns 0 where there was no place for it.
__noinline int send_event(const struct conn *c, __u32 kind, __u32 dir, __u64 socket)
{
	struct lc_control *e;

	if (!c)
		return 0;
	e = begin_control();
	if (e) {
		fill_event(e, c, kind, dir, socket);
		end_control(e);
		return 1;
	}
	if (kind != EVENT_OPEN)
		return 0;
	e = spill();
	if (!e)
		return 0;
	fill_event(e, c, kind, dir, socket);
	end_spill(e);
	return 1;
}

// Whether user space is told of a connection: it may have bytes of it.
static __always_inline int is_known(const struct conn *c)
{
	return c->flags & CONN_OPENED || c->pos[0] || c->pos[1];
}

static __noinline int fill_end(struct lc_control *e, const struct conn *c, const struct sock *sk, __u32 kind, __u32 dir)
{
	const struct tcp_sock *tp = (const void *)sk;

	fill_control(e, c, kind, dir);
	if (kind == EVENT_CLOSE)
		e->ssl = (__u64)sk;
	if (c->flags & CONN_UNIX)
		return 0;
	fill_counts(e, c, sk);
	e->error = BPF_CORE_READ(sk, sk_err);
	// What has come is more than what was read; the FIN takes a number too.
	if (kind == EVENT_FIN && c->flags & CONN_SEQ && dir == dir_of(c, 0))
		e->seq_pos[dir & 1] = widen(BPF_CORE_READ(tp, rcv_nxt) - 1, c->base[0], c->pos[dir & 1]);
	return 0;
}

// Tells how a direction ended, or the connection. Returns 0 where there was no
// place for it: of a direction, the flags of the connection's end tell it too.
static __noinline int send_end(struct conn *c, const struct sock *sk, __u32 kind, __u32 dir)
{
	struct lc_control *e;

	if (!c || !is_known(c))
		return 1;
	e = begin_control();
	if (e) {
		fill_end(e, c, sk, kind, dir);
		end_control(e);
		return 1;
	}
	if (kind != EVENT_CLOSE)
		return 0;
	e = spill();
	if (!e)
		return 0;
	fill_end(e, c, sk, kind, dir);
	end_spill(e);
	return 1;
}

// Counts bytes that came and that nobody read. The peer's FIN takes a number.
static __always_inline void count_unread(const struct conn *c, struct sock *sk, __u32 fin)
{
	const struct tcp_sock *tp = (const void *)sk;
	__s32 n = BPF_CORE_READ(tp, rcv_nxt) - BPF_CORE_READ(tp, copied_seq) - fin;

	if (n > 0)
		count(COUNT_UNREAD, dir_of(c, 0), 1, n);
}

// Whether all that TCP has moved for the process was seen at the exits of its
// calls, and no more can be.
static __always_inline int all_told(const struct conn *c, struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;
	__u32 read = BPF_CORE_READ(tp, copied_seq);
	__u32 came = BPF_CORE_READ(tp, rcv_nxt) - (c->flags & CONN_FIN_IN ? 1 : 0);
	__u32 written = BPF_CORE_READ(tp, write_seq) - (c->flags & CONN_FIN_OUT ? 1 : 0);

	if ((__s32)(came - read) > 0 && BPF_CORE_READ(sk, sk_socket))
		return 0;
	if ((__s32)(read - came) > 0)
		read = came;
	return (__u32)c->pos[dir_of(c, 0)] == read - c->base[0] && (__u32)c->pos[dir_of(c, 1)] == written - c->base[1];
}

// Ends a connection whose state is closed. On one host a reset can come while
// the call that provoked it still runs: its bytes are told at its exit, and
// the end once more after them. User space, which was told, forgets it where
// none comes; what it could not be told of goes here.
static __noinline int close_tcp(struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct conn *c = bpf_map_lookup_elem(&conns, &key);
	int told, all;

	if (!c)
		return 0;
	all = all_told(c, sk);
	if (all)
		c->flags &= ~CONN_CLOSED;
	else
		c->flags |= CONN_CLOSED;
	told = send_end(c, sk, EVENT_CLOSE, 0);
	if (all || !told)
		bpf_map_delete_elem(&conns, &key);
	return 0;
}

static __always_inline void note_listener(struct sock *sk)
{
	struct listener_key key;
	__u8 yes = 1;

	key.port = BPF_CORE_READ(sk, __sk_common.skc_num);
	key.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	bpf_map_update_elem(&listeners, &key, &yes, BPF_ANY);
}

// An AF_UNIX connection ends: this side closed it, or read the other's end.
static __noinline int end_unix(struct sock *sk, __u32 kind)
{
	__u64 key = (__u64)sk;
	struct conn *c = bpf_map_lookup_elem(&conns, &key);

	if (!c || !(c->flags & CONN_UNIX) || !is_known(c))
		return 0;
	if (kind == EVENT_FIN)
		c->flags |= CONN_FIN_IN | CONN_PEER_FIRST;
	send_end(c, sk, kind, dir_of(c, 0));
	if (kind == EVENT_CLOSE)
		bpf_map_delete_elem(&conns, &key);
	return 0;
}

static __always_inline void on_close(struct call *k)
{
	struct fd_key key = {.tgid = k->tgid, .fd = k->arg[0]};
	__u64 *sk = bpf_map_lookup_elem(&unix_fds, &key);

	if (!sk)
		return;
	end_unix((struct sock *)*sk, EVENT_CLOSE);
	bpf_map_delete_elem(&unix_fds, &key);
}

#endif
