// What a call moved on a wanted connection.
#ifndef LAMBDAC_TAKE_H
#define LAMBDAC_TAKE_H

#include "call.h"
#include "life.h"
#include "cipher.h"

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

// Looks at bytes of a direction: whether HTTP/2 speaks, or the first are a TLS
// record's head, of any type where the connection was joined late, which it says.
__noinline int recognize(struct conn *c, const struct emission *e)
{
	__u8 b[5] = {};

	if (!c || !e)
		return 0;
	if (speaks_h2(first_bytes(e, H2_HEADER))) {
		c->flags |= CONN_H2;
		return 0;
	}
	if (e->pos || bpf_probe_read_user(b, sizeof(b), (const void *)first_bytes(e, sizeof(b))))
		return 0;
	if (c->pos[(e->dir ^ 1) & 1] || b[1] != 3 || b[2] > 4)
		return 0;
	if (b[0] == 22 || (c->flags & CONN_LATE && b[0] >= 20 && b[0] <= 23)) {
		c->flags |= CONN_TLS;
		return 1;
	}
	return 0;
}

// Whether a call's bytes may tell what the connection speaks: the first of a
// direction, or early ones of one that was joined late, amid a frame or not.
static __always_inline int may_tell(const struct conn *c, const struct emission *e)
{
	if (c->flags & (CONN_TLS | CONN_FOREIGN | CONN_H2))
		return 0;
	return e->pos == 0 || (c->flags & CONN_LATE && e->pos < H2_WATCHED);
}

// Takes n bytes that a call moved. e has the buffers.
static __noinline int moved(struct conn *c, struct emission *e, __u32 n, __u32 why)
{
	if (!c || !e)
		return 0;
	e->cookie = c->cookie;
	e->pos = __sync_fetch_and_add(&c->pos[e->dir & 1], n);
	e->call = e->left = n;
	if (!why && may_tell(c, e) && recognize(c, e))
		send_event(c, EVENT_TLS, e->dir, 0);
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
	e->h2 = c->flags & CONN_H2;
	emit_call(e, &c->skipped[e->dir & 1]);
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

#endif
