// A system call that has ended: which one, and what it was given.
#ifndef LAMBDAC_CALL_H
#define LAMBDAC_CALL_H

#include "kernel.h"

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
	SHAPE_ACCEPT,
};

struct call {
	__u64 arg[3];
	__u64 g; // where Go keeps its goroutine
	long ret;
	__u32 shape, writes;
	__u32 msg_flags;
	__u32 tgid;
};

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
	case NR_accept:
	case NR_accept4:
		c->shape = SHAPE_ACCEPT;
		break;
	case NR_mmap:
		c->shape = nest_on && SYSCALL_ARG2(regs) & PROT_EXEC ? SHAPE_MMAP : SHAPE_NONE;
		break;
	}
	return c->shape;
}

static __always_inline int is_compat(void)
{
#if defined(__TARGET_ARCH_x86)
	return bpf_get_current_task_btf()->thread_info.status & 2; // TS_COMPAT
#else
	return (bpf_get_current_task_btf()->thread_info.flags >> 22) & 1; // TIF_32BIT
#endif
}

#endif
