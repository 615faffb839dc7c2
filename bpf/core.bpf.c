//go:build ignore

// Sockets as system calls and TCP see them. Only the exit of calls is hooked:
// the arguments are still in the registers there, the bytes are known to have
// moved, and pages that were not resident at the entry are.
#include "conn.h"
#include "sock.h"
#include "join.h"
#include "take.h"

char _license[] SEC("license") = "Dual BSD/GPL";

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

// Counts what a call moved as datagrams.
static __always_inline void count_datagrams(const struct call *k)
{
	__u64 at = k->arg[1] + sizeof(struct user_msghdr), bytes = 0;
	__u32 len;

	if (k->shape != SHAPE_MMSG) {
		count(COUNT_QUIC, k->writes, 1, k->ret);
		return;
	}
	for (int i = 0; i < 256 && i < k->ret; i++) {
		if (bpf_probe_read_user(&len, sizeof(len), (const void *)(at + i * sizeof(struct user_mmsghdr))))
			break;
		bytes += len;
	}
	count(COUNT_QUIC, k->writes, k->ret, bytes);
}

__noinline int on_socket(struct call *k, __u32 fd)
{
	struct sock *sk;
	struct conn *c;
	__u64 ino = 0;
	__u16 family = 0;

	if (!k)
		return 0;
	sk = sock_of(fd, &ino, &family);
	if (!sk) {
		if (family == FAMILY_QUIC && port_wanted(PORT_QUIC) && process_wanted(k->tgid))
			count_datagrams(k);
		return 0;
	}
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

// Notes when a process got a connection.
static __noinline int note_accept(__u32 fd)
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
	if (c && !c->accepted)
		c->accepted = bpf_ktime_get_boot_ns();
	return 0;
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
	if (!e) {
		bpf_map_delete_elem(&code_files, &key);
		return 0;
	}
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
	if (k.shape == SHAPE_ACCEPT) {
		note_accept(k.ret);
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
		c->flags |= c->flags & CONN_FIN_OUT ? CONN_FIN_IN : CONN_FIN_IN | CONN_PEER_FIRST;
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

// No call is under way on a socket that goes. What the table still holds of it
// would be taken for the next connection whose socket has its address: one that
// was kept for a call that could still tell, or that its process never used.
SEC("tp_btf/tcp_destroy_sock")
int on_destroy(__u64 *ctx)
{
	__u64 key = ctx[0];
	struct conn *c = bpf_map_lookup_elem(&conns, &key);

	if (c && (c->flags & CONN_CLOSED || !is_known(c)))
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
	if (!c)
		return 0;
	c->flags |= sent ? CONN_RST_OUT : CONN_RST_IN;
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

static __always_inline void fill_exit(struct lc_control *e, __u32 tgid)
{
	e->kind = EVENT_EXIT;
	e->time = bpf_ktime_get_boot_ns();
	e->tgid = tgid;
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
	if (e) {
		fill_exit(e, task->tgid);
		end_control(e);
		return 0;
	}
	e = spill();
	if (e) {
		fill_exit(e, task->tgid);
		end_spill(e);
	}
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
