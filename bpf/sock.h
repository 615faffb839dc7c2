// From a descriptor to the kernel's socket.
#ifndef LAMBDAC_SOCK_H
#define LAMBDAC_SOCK_H

#include "conn.h"

// The file of a descriptor of the running task.
static __always_inline struct file *file_of(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = NULL, **list;
	struct fdtable *table;

	table = task->files->fdt;
	if (!table || fd >= table->max_fds)
		return NULL;
	list = table->fd;
	bpf_probe_read_kernel(&file, sizeof(file), list + fd);
	return file;
}

#define FAMILY_QUIC 0xffff // no family of the kernel's

// The stream socket of a descriptor, and its inode's number; NULL where it is
// none. The family is AF_UNIX, AF_INET or AF_INET6; where there is no stream,
// FAMILY_QUIC is that of a server's socket of UDP whose port is QUIC's.
static __always_inline struct sock *sock_of(__u32 fd, __u64 *ino, __u16 *family)
{
	struct file *file = file_of(fd);
	struct inode *inode;
	struct socket *socket;
	struct sock *sk;
	__u16 mode, protocol;

	if (!file)
		return NULL;
	inode = BPF_CORE_READ(file, f_inode);
	mode = BPF_CORE_READ(inode, i_mode);
	if ((mode & S_IFMT) != S_IFSOCK)
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	if (!sk)
		return NULL;
	*family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (*family == AF_UNIX) {
		if (!want_unix || BPF_CORE_READ(sk, sk_type) != SOCK_STREAM)
			return NULL;
		*ino = BPF_CORE_READ(inode, i_ino);
		return sk;
	}
	if (!want_tcp || (*family != AF_INET && *family != AF_INET6))
		return NULL;
	protocol = BPF_CORE_READ(sk, sk_protocol);
	if (protocol == IPPROTO_MPTCP)
		count(COUNT_MPTCP, 0, 1, 0);
	if (protocol == IPPROTO_UDP)
		*family = BPF_CORE_READ(sk, __sk_common.skc_num) == PORT_QUIC ? FAMILY_QUIC : 0;
	return protocol == IPPROTO_TCP ? sk : NULL;
}

#endif
