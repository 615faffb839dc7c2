//go:build ignore

// Sockets as system calls and TCP see them. Only the exit of calls is hooked:
// the arguments are still in the registers there, the bytes are known to have
// moved, and pages that were not resident at the entry are.
#include "conn.h"
#include "sock.h"
#include "cipher.h"

char _license[] SEC("license") = "Dual BSD/GPL";

enum shape {
	SHAPE_NONE,
	SHAPE_BUF,
	SHAPE_IOV,
	SHAPE_MSG,
	SHAPE_MMSG,
	SHAPE_SENDFILE,
	SHAPE_SPLICE,
	SHAPE_CLOSE,
	SHAPE_URING,
	SHAPE_MMAP,
};

struct call {
	__u64 arg[3];
	__u64 g; // where Go keeps its goroutine
	long ret;
	__u32 shape, writes;
	__u32 msg_flags;
	__u32 tgid;
};

// The files that processes run code of: when user space was told of each, ~0
// where it needs no telling.
struct code_key {
	__u64 ino, dev;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct code_key);
	__type(value, __u64);
} code_files SEC(".maps");

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

static __always_inline int classify(struct call *c, struct pt_regs *regs)
{
	c->shape = SHAPE_NONE;
	c->writes = 0;
	c->msg_flags = 0;
	switch ((long)SYSCALL_NR(regs)) {
	case NR_read:
		c->shape = SHAPE_BUF;
		break;
	case NR_write:
		c->shape = SHAPE_BUF;
		c->writes = 1;
		break;
	case NR_recvfrom:
		c->shape = SHAPE_BUF;
		c->msg_flags = SYSCALL_ARG3(regs);
		break;
	case NR_sendto:
		c->shape = SHAPE_BUF;
		c->writes = 1;
		break;
	case NR_readv:
		c->shape = SHAPE_IOV;
		break;
	case NR_writev:
		c->shape = SHAPE_IOV;
		c->writes = 1;
		break;
	case NR_recvmsg:
		c->shape = SHAPE_MSG;
		c->msg_flags = SYSCALL_ARG2(regs);
		break;
	case NR_sendmsg:
		c->shape = SHAPE_MSG;
		c->writes = 1;
		break;
	case NR_recvmmsg:
		c->shape = SHAPE_MMSG;
		c->msg_flags = SYSCALL_ARG3(regs);
		break;
	case NR_sendmmsg:
		c->shape = SHAPE_MMSG;
		c->writes = 1;
		break;
	case NR_sendfile:
		c->shape = SHAPE_SENDFILE;
		c->writes = 1;
		break;
	case NR_splice:
		c->shape = SHAPE_SPLICE;
		break;
	case NR_close:
		c->shape = SHAPE_CLOSE;
		break;
	case NR_io_uring_enter:
		c->shape = SHAPE_URING;
		break;
	case NR_mmap:
		c->shape = nest_on && SYSCALL_ARG2(regs) & PROT_EXEC ? SHAPE_MMAP : SHAPE_NONE;
		break;
	}
	return c->shape;
}

// Whether ports and side of a TCP connection are wanted.
static __always_inline int tcp_wanted(const struct conn *c)
{
	if (c->flags & CONN_CLIENT)
		return want_client && port_wanted(c->remote_port);
	return want_server && port_wanted(c->local_port);
}

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

__noinline int send_event(const struct conn *c, __u32 kind, __u32 dir, __u64 socket)
{
	struct lc_control *e;

	if (!c)
		return 0;
	e = begin_control();
	if (!e)
		return 0;
	fill_control(e, c, kind, dir);
	if (kind == EVENT_OPEN) {
		__u64 id = bpf_get_current_pid_tgid();

		e->tgid = id >> 32;
		e->tid = (__u32)id;
		bpf_get_current_comm(e->comm, sizeof(e->comm));
		e->ssl = socket;
		if (c->family == AF_UNIX)
			e->peer_tgid = c->netns;
	}
	end_control(e);
	return 0;
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
		send_event(c, EVENT_CLOSE, 0, key);
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
	if (!(c->flags & CONN_OPENED)) {
		c->flags |= CONN_OPENED;
		send_event(c, EVENT_OPEN, 0, key);
	}
	return c;
}

// Tells the library's program which socket was used within its function.
__noinline int note_nested(const struct call *k, struct conn *c)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct nest_key key = {.thread = id};
	struct nest *n;

	if (!k)
		return 0;
	n = bpf_map_lookup_elem(&nested, &key);
	if (!n) {
		key.thread = id >> 32 << 32;
		key.g = k->g;
		n = bpf_map_lookup_elem(&nested, &key);
	}
	if (!n)
		return 0;
	n->calls++;
	if (!c) {
		n->filtered++;
		return 0;
	}
	n->cookie = c->cookie;
	n->flags = c->flags;
	if (c->flags & CONN_TLS)
		c->flags |= CONN_BOUND;
	return 0;
}

// Whether bytes are a TLS record's head: of any type where the connection was
// joined late.
static __always_inline int is_tls(const struct conn *c, const struct emission *e)
{
	__u8 b[5] = {};

	if (bpf_probe_read_user(b, sizeof(b), (const void *)first_bytes(e, sizeof(b))))
		return 0;
	if (b[1] != 3 || b[2] > 4)
		return 0;
	return b[0] == 22 || (c->flags & CONN_LATE && b[0] >= 20 && b[0] <= 23);
}

// Takes n bytes that a call moved. e has the buffers.
static __noinline int moved(struct conn *c, struct emission *e, __u32 n, __u32 why)
{
	if (!c || !e)
		return 0;
	e->cookie = c->cookie;
	e->pos = __sync_fetch_and_add(&c->pos[e->dir & 1], n);
	e->call = e->left = n;
	if (!why && !(c->flags & (CONN_TLS | CONN_FOREIGN)) && c->pos[(e->dir ^ 1) & 1] == 0 && e->pos == 0 && is_tls(c, e)) {
		c->flags |= CONN_TLS;
		send_event(c, EVENT_TLS, e->dir, 0);
	}
	if (nest_on && c->flags & CONN_TLS && !(c->flags & CONN_BOUND))
		note_cipher(c, e, n);
	if (c->flags & CONN_FOREIGN)
		why = COUNT_FOREIGN;
	if (c->flags & CONN_TLS && !keep_tls) {
		count(COUNT_WANT, e->dir, 1, n);
		count(COUNT_RAW_TLS, e->dir, 1, n);
		return 0;
	}
	if (ignores && bpf_map_lookup_elem(&ignored, &e->cookie)) {
		count(COUNT_WANT, e->dir, 1, n);
		count(COUNT_IGNORED, e->dir, 1, n);
		return 0;
	}
	if (why) {
		count(COUNT_WANT, e->dir, 1, n);
		e->left = 0;
		e->lost = n;
		e->why = why;
		emit_buffers(e);
		return 0;
	}
	emit_call(e);
	return 0;
}

// Finds the buffers of a message. A function of its own for its stack, which
// is small for all calls together.
__noinline int use_msghdr(struct emission *e, __u64 at)
{
	struct user_msghdr m;

	if (!e || bpf_probe_read_user(&m, sizeof(m), (const void *)at))
		return 0;
	e->iov = m.iov;
	e->iovs = m.iovlen > 1024 ? 1024 : m.iovlen;
	return 0;
}

struct mmsg_loop {
	struct conn *c;
	__u64 list;
	__u64 time;
	__u32 messages;
	__u32 dir, why;
};

static long mmsg_step(__u64 index, void *ctx)
{
	struct mmsg_loop *l = ctx;
	struct emission e = {};
	__u64 at = l->list + index * sizeof(struct user_mmsghdr);
	__u32 len;

	if (index >= l->messages)
		return 1;
	if (bpf_probe_read_user(&len, sizeof(len), (const void *)(at + sizeof(struct user_msghdr))))
		return 1;
	e.dir = l->dir;
	e.time = l->time;
	use_msghdr(&e, at);
	if (len)
		moved(l->c, &e, len, l->why);
	return 0;
}

// Takes the messages that a call moved on a wanted connection.
__noinline int take_messages(struct call *k, struct conn *c)
{
	struct mmsg_loop l = {};

	if (!k || !c)
		return 0;
	l.c = c;
	l.list = k->arg[1];
	l.time = bpf_ktime_get_boot_ns();
	l.messages = k->ret;
	l.dir = dir_of(c, k->writes);
	if (k->msg_flags & MSG_TRUNC)
		l.why = COUNT_DISCARDED;
	bpf_loop(1024, mmsg_step, &l, 0);
	return 0;
}

// Takes what a call moved on a wanted connection.
__noinline int take(struct call *k, struct conn *c)
{
	struct emission e = {};
	__u32 why = 0;

	if (!k || !c)
		return 0;
	e.dir = dir_of(c, k->writes);
	e.time = bpf_ktime_get_boot_ns();
	switch (k->shape) {
	case SHAPE_BUF:
		e.base = k->arg[1];
		e.len = k->ret;
		break;
	case SHAPE_IOV:
		e.iov = k->arg[1];
		e.iovs = k->arg[2];
		break;
	case SHAPE_MSG:
		use_msghdr(&e, k->arg[1]);
		break;
	case SHAPE_SENDFILE:
		why = COUNT_SENDFILE;
		break;
	case SHAPE_SPLICE:
		why = COUNT_SPLICE;
		break;
	}
	if (k->msg_flags & MSG_TRUNC)
		why = COUNT_DISCARDED;
	return moved(c, &e, k->ret, why);
}

// An AF_UNIX connection ends: this side closed it, or read the other's end.
static __noinline int end_unix(struct sock *sk, __u32 kind)
{
	__u64 key = (__u64)sk;
	struct conn *c = bpf_map_lookup_elem(&conns, &key);

	if (!c || !(c->flags & CONN_UNIX) || !(c->flags & CONN_OPENED))
		return 0;
	send_event(c, kind, dir_of(c, 0), key);
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

static __always_inline int is_compat(void)
{
#if defined(__TARGET_ARCH_x86)
	return bpf_get_current_task_btf()->thread_info.status & 2; // TS_COMPAT
#else
	return (bpf_get_current_task_btf()->thread_info.flags >> 22) & 1; // TIF_32BIT
#endif
}

static __noinline int close_tcp(struct sock *sk);

__noinline int on_socket(struct call *k, __u32 fd)
{
	struct sock *sk;
	struct conn *c;
	__u64 ino = 0;
	__u16 family = 0;

	if (!k)
		return 0;
	sk = sock_of(fd, &ino, &family);
	if (!sk)
		return 0;
	if (k->ret == 0) { // the other side's end
		if (family == AF_UNIX)
			end_unix(sk, EVENT_FIN);
		return 1;
	}
	c = conn_of(sk, ino, family, k);
	if (!c) {
		if (nest_on)
			note_nested(k, NULL);
		count(COUNT_FILTERED, k->writes, 1, k->ret);
		return 1;
	}
	if (is_stray(c, sk, k)) {
		count(COUNT_STRAY, k->writes, 1, k->ret);
		return 1;
	}
	if (family == AF_UNIX) {
		struct fd_key key = {.tgid = k->tgid, .fd = fd};
		__u64 at = (__u64)sk;

		bpf_map_update_elem(&unix_fds, &key, &at, BPF_ANY);
	}
	if (k->shape == SHAPE_MMSG)
		take_messages(k, c);
	else
		take(k, c);
	if (nest_on) // after it, since only then is it known to be TLS
		note_nested(k, c);
	if (c->flags & CONN_CLOSED)
		close_tcp(sk);
	return 1;
}

// Tells of a file that a process begins to run code of, once: probes are on
// files, whoever maps them. It is told again a second later, in case that its
// process had ended before it could be looked at.
static __noinline int note_code(struct file *file, __u32 tgid)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct code_key key = {.ino = BPF_CORE_READ(inode, i_ino), .dev = BPF_CORE_READ(inode, i_sb, s_dev)};
	__u64 *told = bpf_map_lookup_elem(&code_files, &key), now = bpf_ktime_get_boot_ns();
	struct lc_control *e;

	if (!key.ino || (told && (*told == ~0ull || now - *told < 1000000000)))
		return 0;
	bpf_map_update_elem(&code_files, &key, &now, BPF_ANY);
	e = begin_control();
	if (!e)
		return 0;
	e->kind = EVENT_CODE;
	e->time = now;
	e->tgid = tgid;
	e->ssl = key.ino;
	e->start = key.dev;
	end_control(e);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_process_exec(__u64 *ctx)
{
	struct linux_binprm *bprm = (struct linux_binprm *)ctx[2];
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (nest_on && process_wanted(tgid))
		note_code(bprm->file, tgid);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct call k = {.ret = (long)ctx[1]};

	if (!classify(&k, regs) || k.ret < 0)
		return 0;
	k.tgid = bpf_get_current_pid_tgid() >> 32;
	if (k.tgid == own_tgid)
		return 0;
	k.arg[0] = SYSCALL_ARG0(regs);
	k.arg[1] = SYSCALL_ARG1(regs);
	k.arg[2] = SYSCALL_ARG2(regs);
	k.g = GOROUTINE(regs);
	if (k.shape == SHAPE_MMAP) {
		if (process_wanted(k.tgid))
			note_code(file_of(SYSCALL_ARG4(regs)), k.tgid);
		return 0;
	}
	if (k.shape == SHAPE_CLOSE) {
		if (want_unix)
			on_close(&k);
		return 0;
	}
	if (k.shape == SHAPE_URING) {
		if (process_wanted(k.tgid))
			count(COUNT_IO_URING, 0, 1, k.ret);
		return 0;
	}
	if (k.ret == 0 && (k.writes || !want_unix))
		return 0;
	if (k.msg_flags & (MSG_PEEK | MSG_ERRQUEUE | 1)) // MSG_OOB
		return 0;
	if (is_compat()) {
		count(COUNT_COMPAT, k.writes, 1, k.ret);
		return 0;
	}
	if (k.shape == SHAPE_SPLICE) {
		k.writes = 1;
		if (on_socket(&k, k.arg[2]))
			return 0;
		k.writes = 0;
	}
	on_socket(&k, k.arg[0]);
	return 0;
}

// Starts a TCP connection at its first moment.
static __noinline int start_tcp(struct sock *sk, __u64 cookie, __u32 client)
{
	struct conn c = {}, *old;
	__u64 key = (__u64)sk;

	old = bpf_map_lookup_elem(&conns, &key);
	if (old && !(old->flags & CONN_CLOSED))
		return 0;
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

// Tells how a direction ended. Returns 0 where the control ring was full.
static __noinline int send_end(struct conn *c, struct sock *sk, __u32 kind, __u32 dir)
{
	const struct tcp_sock *tp = (const void *)sk;
	struct lc_control *e;

	if (!c || !(c->flags & CONN_OPENED))
		return 1;
	e = begin_control();
	if (!e)
		return 0;
	fill_control(e, c, kind, dir);
	fill_counts(e, c, sk);
	e->error = BPF_CORE_READ(sk, sk_err);
	if (kind == EVENT_CLOSE)
		e->ssl = (__u64)sk;
	// What has come is more than what was read; the FIN takes a number too.
	if (kind == EVENT_FIN && c->flags & CONN_SEQ && dir == dir_of(c, 0))
		e->seq_pos[dir & 1] = widen(BPF_CORE_READ(tp, rcv_nxt) - 1, c->base[0], c->pos[dir & 1]);
	end_control(e);
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

SEC("tp_btf/inet_sock_set_state")
int on_set_state(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	int old = (int)ctx[1], now = (int)ctx[2];
	struct conn *c;
	__u64 key = (__u64)sk;

	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	if (now == TCP_LISTEN) {
		note_listener(sk);
		return 0;
	}
	if (now == TCP_ESTABLISHED) {
		start_tcp(sk, bpf_get_socket_cookie(sk), old == 2); // TCP_SYN_SENT
		return 0;
	}
	c = bpf_map_lookup_elem(&conns, &key);
	if (!c)
		return 0;
	switch (now) {
	case TCP_CLOSE_WAIT:
	case TCP_CLOSING:
		c->flags |= CONN_FIN_IN;
		send_end(c, sk, EVENT_FIN, dir_of(c, 0));
		break;
	case TCP_FIN_WAIT1:
	case TCP_LAST_ACK:
		send_end(c, sk, EVENT_FIN, dir_of(c, 1));
		c->flags |= CONN_FIN_OUT; // which has its number from now on
		break;
	case TCP_CLOSE:
		count_unread(c, sk, c->flags & CONN_FIN_IN || old == TCP_FIN_WAIT2 ? 1 : 0);
		close_tcp(sk);
		break;
	}
	return 0;
}

// A connection that its process never used, and that ended with bytes unread,
// is known to nobody but this table: it goes with its socket.
SEC("tp_btf/tcp_destroy_sock")
int on_destroy(__u64 *ctx)
{
	__u64 key = ctx[0];
	struct conn *c = bpf_map_lookup_elem(&conns, &key);

	if (c && !(c->flags & CONN_OPENED))
		bpf_map_delete_elem(&conns, &key);
	return 0;
}

static __always_inline int on_reset(struct sock *sk, __u32 sent)
{
	__u64 key = (__u64)sk;
	struct conn *c;

	if (!sk)
		return 0;
	c = bpf_map_lookup_elem(&conns, &key);
	if (c)
		send_end(c, sk, EVENT_RST, dir_of(c, sent));
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int on_receive_reset(__u64 *ctx)
{
	return on_reset((struct sock *)ctx[0], 0);
}

SEC("tp_btf/tcp_send_reset")
int on_send_reset(__u64 *ctx)
{
	return on_reset((struct sock *)ctx[0], 1);
}

SEC("tp_btf/sched_process_exit")
int on_process_exit(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct lc_control *e;

	if (!want_unix && !nest_on)
		return 0;
	if (task->pid != task->tgid || !process_wanted(task->tgid))
		return 0;
	e = begin_control();
	if (!e)
		return 0;
	e->kind = EVENT_EXIT;
	e->time = bpf_ktime_get_boot_ns();
	e->tgid = task->tgid;
	end_control(e);
	return 0;
}

// Which pass of the iterator runs: 0 notes who listens, 1 the connections.
volatile __u32 join_pass;

// Visits the sockets that are open at the start, of all network namespaces.
SEC("iter/task_file")
int join(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct socket *socket;
	struct sock *sk;
	__u32 state;

	own_tgid = bpf_get_current_pid_tgid() >> 32;
	if (!file || !ctx->task)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6)
		return 0;
	state = sk->__sk_common.skc_state;
	if (join_pass == 0) {
		if (state == TCP_LISTEN)
			note_listener(sk);
		return 0;
	}
	if (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT)
		return 0;
	join_tcp(sk, bpf_get_socket_cookie(sk), NULL);
	return 0;
}
