// Kernel types as this package uses them: only the fields that are read, found
// in the running kernel by CO-RE relocation, so that one object serves all
// kernels from 6.1 on. Written by hand after the kernel's own declarations;
// there is no generated vmlinux.h.
#ifndef LAMBDAC_KERNEL_H
#define LAMBDAC_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

// include/uapi/linux/bpf.h
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_RB_NO_WAKEUP 1

// include/net/tcp_states.h
enum {
	TCP_ESTABLISHED = 1,
	TCP_FIN_WAIT1 = 4,
	TCP_FIN_WAIT2 = 5,
	TCP_CLOSE = 7,
	TCP_CLOSE_WAIT = 8,
	TCP_LAST_ACK = 9,
	TCP_LISTEN = 10,
	TCP_CLOSING = 11,
};

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define PORT_QUIC 443
#define IPPROTO_MPTCP 262
#define MSG_PEEK 2
#define MSG_TRUNC 0x20
#define MSG_ERRQUEUE 0x2000
#define S_IFMT 0170000
#define SK_USER_DATA_PSOCK 4 // include/linux/skmsg.h
#define PROT_EXEC 4
#define S_IFSOCK 0140000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

typedef struct {
	s64 counter;
} atomic64_t;

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
};

struct socket;

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u16 sk_protocol;
	int sk_err;
	struct socket *sk_socket;
	struct pid *sk_peer_pid;
	void *sk_user_data;
};

struct tcp_sock {
	u32 rcv_nxt;
	u32 copied_seq;
	u32 write_seq;
	u32 snd_una;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct socket {
	struct sock *sk;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
	void *private_data;
};

struct linux_binprm {
	struct file *file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct thread_info {
	unsigned long flags;
	u32 status;
};

struct task_struct {
	struct thread_info thread_info;
	s32 pid;
	s32 tgid;
	struct files_struct *files;
};

struct bpf_iter_meta {
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r14;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ax;
	unsigned long cx;
	unsigned long bx;
	unsigned long ip;
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 orig_x0;
	s32 syscallno;
};
#else
#error "unknown target"
#endif

#pragma clang attribute pop

// What a system call was given: at its exit these registers still hold it.
#if defined(__TARGET_ARCH_x86)
#define SYSCALL_NR(regs) ((regs)->orig_ax)
#define SYSCALL_ARG0(regs) ((regs)->di)
#define SYSCALL_ARG1(regs) ((regs)->si)
#define SYSCALL_ARG2(regs) ((regs)->dx)
#define SYSCALL_ARG3(regs) ((regs)->r10)
#define SYSCALL_ARG4(regs) ((regs)->r8)
#define GOROUTINE(regs) ((regs)->r14)
enum {
	NR_read = 0,
	NR_write = 1,
	NR_close = 3,
	NR_mmap = 9,
	NR_readv = 19,
	NR_writev = 20,
	NR_sendfile = 40,
	NR_accept = 43,
	NR_sendto = 44,
	NR_recvfrom = 45,
	NR_sendmsg = 46,
	NR_recvmsg = 47,
	NR_shutdown = 48,
	NR_splice = 275,
	NR_accept4 = 288,
	NR_recvmmsg = 299,
	NR_sendmmsg = 307,
	NR_io_uring_enter = 426,
};
#else
#define SYSCALL_NR(regs) ((regs)->syscallno)
#define SYSCALL_ARG0(regs) ((regs)->orig_x0)
#define SYSCALL_ARG1(regs) ((regs)->regs[1])
#define SYSCALL_ARG2(regs) ((regs)->regs[2])
#define SYSCALL_ARG3(regs) ((regs)->regs[3])
#define SYSCALL_ARG4(regs) ((regs)->regs[4])
#define GOROUTINE(regs) ((regs)->regs[28])
enum {
	NR_close = 57,
	NR_read = 63,
	NR_write = 64,
	NR_readv = 65,
	NR_writev = 66,
	NR_sendfile = 71,
	NR_splice = 76,
	NR_accept = 202,
	NR_sendto = 206,
	NR_recvfrom = 207,
	NR_shutdown = 210,
	NR_sendmsg = 211,
	NR_recvmsg = 212,
	NR_mmap = 222,
	NR_accept4 = 242,
	NR_recvmmsg = 243,
	NR_sendmmsg = 269,
	NR_io_uring_enter = 426,
};
#endif

// 64-bit layouts of include/linux/uio.h and include/linux/socket.h, as the
// system calls take them.
struct user_iovec {
	u64 base;
	u64 len;
};

struct user_msghdr {
	u64 name;
	u32 namelen;
	u32 pad0;
	u64 iov;
	u64 iovlen;
	u64 control;
	u64 controllen;
	u32 flags;
	u32 pad1;
};

struct user_mmsghdr {
	struct user_msghdr hdr;
	u32 len;
	u32 pad;
};

#endif
