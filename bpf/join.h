// Which connection a call is about, and whether it is wanted.
#ifndef LAMBDAC_JOIN_H
#define LAMBDAC_JOIN_H

#include "life.h"

// Starts a TCP connection that was open before it was seen: at a call, which is
// part of it, or without one.
static __noinline int join_tcp(struct sock *sk, __u64 cookie, const struct call *k)
{
	struct conn c = {};
	struct listener_key lk;
	__u64 key = (__u64)sk;

	read_tuple(&c, sk);
	if (!port_wanted(c.local_port) && !port_wanted(c.remote_port))
		return 0;
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_CLOSE)
		return 0; // what is left of one that has ended
	lk.netns = c.netns;
	lk.port = c.local_port;
	c.flags = CONN_LATE;
	if (!bpf_map_lookup_elem(&listeners, &lk))
		c.flags |= CONN_CLIENT;
	if (!tcp_wanted(&c))
		return 0;
	read_base(&c, sk);
	if (k && k->shape != SHAPE_MMSG)
		c.base[k->writes & 1] -= k->ret;
	c.cookie = cookie;
	c.start = bpf_ktime_get_boot_ns();
	if (bpf_map_update_elem(&conns, &key, &c, BPF_NOEXIST)) {
		count(COUNT_CONNS_FULL, 0, 1, 0);
		return 0;
	}
	return 1;
}

static __always_inline int read_path(const struct sock *sk, struct path_key *path)
{
	struct unix_address *addr = BPF_CORE_READ((const struct unix_sock *)sk, addr);

	if (!addr)
		return 0;
	bpf_core_read_str(path->path, sizeof(path->path), &addr->name[0].sun_path);
	return 1;
}

// Starts an AF_UNIX connection at its first call seen. The end that has an
// address is the server's: the accepted socket has its listener's.
static __noinline int join_unix(struct sock *sk, __u64 ino)
{
	struct conn c = {};
	struct path_key path = {};
	struct sock *peer;
	struct pid *pid;
	__u64 key = (__u64)sk;

	if (!read_path(sk, &path)) {
		peer = BPF_CORE_READ((const struct unix_sock *)sk, peer);
		if (!peer || !read_path(peer, &path))
			return 0;
		c.flags = CONN_CLIENT;
	}
	if (c.flags & CONN_CLIENT ? !want_client : !want_server)
		return 0;
	if (filter_paths && !bpf_map_lookup_elem(&paths, &path))
		return 0;
	c.flags |= CONN_UNIX;
	c.family = AF_UNIX;
	c.inode = ino;
	c.cookie = ino | 1ull << 63;
	c.start = bpf_ktime_get_boot_ns();
	pid = BPF_CORE_READ(sk, sk_peer_pid);
	c.netns = BPF_CORE_READ(pid, numbers[0].nr); // the peer's process
	if (bpf_map_update_elem(&conns, &key, &c, BPF_ANY)) {
		count(COUNT_CONNS_FULL, 0, 1, 0);
		return 0;
	}
	return 1;
}

// The cookie of a socket. One that was established before the programs were
// attached and accepted since has none, and cannot be given one here: its
// address, which no other has as long as it lives, stands in.
static __always_inline __u64 cookie_of(const struct sock *sk)
{
	__u64 cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);

	return cookie ? cookie : ((__u64)sk & ~(1ull << 63)) | 1ull << 62;
}

// Whether a connection is wanted, which a process decides that has it: one that
// is handed on to a process that the filters leave out stays, and what that one
// moves is not copied; in the other direction it begins with this call.
static __always_inline int judge(struct conn *c, struct sock *sk, const struct call *k)
{
	if (c->verdict != VERDICT_WANT && c->tgid != k->tgid) {
		__u32 before = c->verdict;

		c->tgid = k->tgid;
		c->verdict = process_wanted(k->tgid) ? VERDICT_WANT : VERDICT_IGNORE;
		if (c->verdict == VERDICT_WANT && before == VERDICT_IGNORE && c->flags & CONN_SEQ) {
			c->flags |= CONN_LATE;
			read_base(c, sk);
			if (k->shape != SHAPE_MMSG)
				c->base[k->writes & 1] -= k->ret;
		}
	}
	if (c->verdict == VERDICT_IGNORE)
		return 0;
	if (c->tgid != k->tgid) {
		c->tgid = k->tgid;
		if (process_wanted(k->tgid))
			c->flags &= ~CONN_FOREIGN;
		else
			c->flags |= CONN_FOREIGN;
	}
	return 1;
}

// Whether bytes are not of the connection that has their descriptor now: while
// the call ran, another thread closed it, and it was given to another one, whose
// TCP has not moved as much. What a sockmap brings, TCP does not count.
static __always_inline int is_stray(struct conn *c, struct sock *sk, const struct call *k)
{
	const struct tcp_sock *tp = (const void *)sk;
	__u32 told = c->pos[dir_of(c, k->writes)], moved, more;

	if (!(c->flags & CONN_SEQ) || c->flags & CONN_TLS || k->shape == SHAPE_MMSG)
		return 0;
	moved = (k->writes ? BPF_CORE_READ(tp, write_seq) : BPF_CORE_READ(tp, copied_seq)) - c->base[k->writes & 1];
	more = told + (__u32)k->ret - moved; // than TCP has moved
	if (more == 0 || more > k->ret)
		return 0;
	if (told == 0 && c->flags & (CONN_LATE | CONN_CLIENT)) { // begun before it was seen
		c->base[k->writes & 1] -= more;
		return 0;
	}
	return !((__u64)BPF_CORE_READ(sk, sk_user_data) & SK_USER_DATA_PSOCK);
}

// The connection of a socket, started if need be; NULL where it is not wanted.
static __always_inline struct conn *conn_of(struct sock *sk, __u64 ino, __u16 family, const struct call *k)
{
	__u64 key = (__u64)sk;
	struct conn *c = bpf_map_lookup_elem(&conns, &key);

	if (c && c->inode != ino) { // an AF_UNIX socket at the address of another
		send_end(c, sk, EVENT_CLOSE, 0);
		bpf_map_delete_elem(&conns, &key);
		c = NULL;
	}
	if (c && c->flags & CONN_CLOSED && c->cookie != cookie_of(sk)) {
		bpf_map_delete_elem(&conns, &key);
		c = NULL;
	}
	if (!c) {
		if (family == AF_UNIX && !process_wanted(k->tgid))
			return NULL; // nothing would tell of its end
		if (!(family == AF_UNIX ? join_unix(sk, ino) : join_tcp(sk, cookie_of(sk), k)))
			return NULL;
		c = bpf_map_lookup_elem(&conns, &key);
		if (!c)
			return NULL;
	}
	if (!judge(c, sk, k))
		return NULL;
	if (!(c->flags & CONN_OPENED) && send_event(c, EVENT_OPEN, 0, key))
		c->flags |= CONN_OPENED; // else it is told of at the next call
	return c;
}

#endif
