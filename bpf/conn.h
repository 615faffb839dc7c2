// Connections: what is kept of each socket, which are wanted, and what user
// space is told of them.
#ifndef LAMBDAC_CONN_H
#define LAMBDAC_CONN_H

#include "copy.h"

// Filters, set by the loader. An empty set admits all.
volatile const __u32 filter_ports, filter_tgids, filter_cgroups, filter_comms, filter_paths;
volatile const __u32 want_server = 1, want_client, want_tcp = 1, want_unix;
// Whether the raw bytes of TLS connections are wanted as they are.
volatile const __u32 keep_tls;
volatile const __u32 nest_on;

struct conn {
	__u64 cookie; // the socket's; AF_UNIX: 1 << 63 | number of its inode
	__u64 pos[2];
	__u64 skipped[2]; // bytes before pos of which the ladder left no record
	__u64 start;
	__u64 accepted; // when the process got it; 0 = not seen
	__u64 inode;
	__u32 base[2]; // TCP's sequence numbers at position 0, as received and sent
	__u32 netns;
	__u32 tgid; // of the last call
	__u32 flags;
	__u32 verdict;
	__u16 local_port, remote_port;
	__u16 family, pad;
	__u8 local[16], remote[16];
};

// By the address of the kernel's socket: its one name that is at hand in every
// program. An entry goes when its socket does.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, 1); // BPF_F_NO_PREALLOC
	__type(key, __u64);
	__type(value, struct conn);
} conns SEC(".maps");

// Cookies of connections that are only counted: user space has seen that they
// are of no protocol that it reads. ignores says whether there ever was one.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, 1); // BPF_F_NO_PREALLOC
	__type(key, __u64);
	__type(value, __u8);
} ignored SEC(".maps");

volatile __u32 ignores;

struct listener_key {
	__u32 netns, port;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct listener_key);
	__type(value, __u8);
} listeners SEC(".maps");

struct comm_key {
	char comm[16];
};

struct path_key {
	char path[108];
};

#define FILTER_MAP(name, keytype)                       \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_HASH);        \
		__uint(max_entries, 256);               \
		__type(key, keytype);                   \
		__type(value, __u8);                    \
	} name SEC(".maps")

FILTER_MAP(ports, __u32);
FILTER_MAP(tgids, __u32);
FILTER_MAP(cgroups, __u64);
FILTER_MAP(comms, struct comm_key);
FILTER_MAP(paths, struct path_key);

static __always_inline __u32 swap16(__be16 v)
{
	return __builtin_bswap16(v);
}

// The direction of bytes that the process writes or reads.
static __always_inline __u32 dir_of(const struct conn *c, __u32 writes)
{
	return (writes ^ (c->flags & CONN_CLIENT ? 1 : 0)) & 1;
}

static __always_inline int port_wanted(__u32 port)
{
	return !filter_ports || bpf_map_lookup_elem(&ports, &port);
}

static __always_inline int cgroup_wanted(void)
{
	__u64 id = bpf_get_current_cgroup_id();

	if (bpf_map_lookup_elem(&cgroups, &id))
		return 1;
	for (int level = 1; level < 8; level++) { // a group of one that is wanted
		id = bpf_get_current_ancestor_cgroup_id(level);
		if (!id)
			break;
		if (bpf_map_lookup_elem(&cgroups, &id))
			return 1;
	}
	return 0;
}

// Whether the filters admit the process that is running.
__noinline int process_wanted(__u32 tgid)
{
	struct comm_key comm = {};

	if (filter_tgids && !bpf_map_lookup_elem(&tgids, &tgid))
		return 0;
	if (filter_cgroups && !cgroup_wanted())
		return 0;
	if (!filter_comms)
		return 1;
	bpf_get_current_comm(&comm, sizeof(comm));
	return bpf_map_lookup_elem(&comms, &comm) != NULL;
}

// Reads the addresses of a TCP socket.
static __always_inline void read_tuple(struct conn *c, const struct sock *sk)
{
	c->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	c->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	c->remote_port = swap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	c->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (c->family == AF_INET6) {
		BPF_CORE_READ_INTO(&c->local, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
		BPF_CORE_READ_INTO(&c->remote, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
		return;
	}
	bpf_core_read(c->local, 4, &sk->__sk_common.skc_rcv_saddr);
	bpf_core_read(c->remote, 4, &sk->__sk_common.skc_daddr);
}

// Notes where TCP's own counts stand: at position 0 of both directions.
static __always_inline void read_base(struct conn *c, const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;

	c->base[0] = BPF_CORE_READ(tp, copied_seq);
	c->base[1] = BPF_CORE_READ(tp, write_seq);
	c->flags |= CONN_SEQ;
}

// A 32-bit count of TCP as a position near pos.
static __always_inline __u64 widen(__u32 seq, __u32 base, __u64 pos)
{
	__u32 n = seq - base;

	return pos + (__s64)(__s32)(n - (__u32)pos);
}

static __always_inline void fill_control(struct lc_control *e, const struct conn *c, __u32 kind, __u32 dir)
{
	e->kind = kind;
	e->dir = dir;
	e->flags = c->flags;
	e->cookie = c->cookie;
	e->time = bpf_ktime_get_boot_ns();
	e->start = c->start;
	e->pos[0] = c->pos[0];
	e->pos[1] = c->pos[1];
	e->skipped[0] = c->skipped[0];
	e->skipped[1] = c->skipped[1];
	e->tgid = c->tgid;
	e->family = c->family;
	e->netns = c->netns;
	e->local_port = c->local_port;
	e->remote_port = c->remote_port;
	__builtin_memcpy(e->local, c->local, 16);
	__builtin_memcpy(e->remote, c->remote, 16);
}

// Adds what TCP has counted, of bytes: a FIN takes a number too.
static __always_inline void fill_counts(struct lc_control *e, const struct conn *c, const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;
	__u32 in = dir_of(c, 0), out = dir_of(c, 1);
	__u32 read, came, written, acked;

	if (!(c->flags & CONN_SEQ))
		return;
	read = BPF_CORE_READ(tp, copied_seq);
	came = BPF_CORE_READ(tp, rcv_nxt) - (c->flags & CONN_FIN_IN ? 1 : 0);
	written = BPF_CORE_READ(tp, write_seq) - (c->flags & CONN_FIN_OUT ? 1 : 0);
	acked = BPF_CORE_READ(tp, snd_una);
	if ((__s32)(read - came) > 0)
		read = came;
	if ((__s32)(acked - written) > 0)
		acked = written;
	e->seq_pos[in] = widen(read, c->base[0], c->pos[in]);
	e->seq_pos[out] = widen(written, c->base[1], c->pos[out]);
	e->acked = widen(acked, c->base[1], c->pos[out]);
}

#endif
