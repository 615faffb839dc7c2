// Small buffers of one call in one record: what writes a chunk's head, its bytes
// and its end in one call is one piece, as it is on the wire.
#ifndef LAMBDAC_GATHER_H
#define LAMBDAC_GATHER_H

#include "emit.h"

// The most buffers of a record, and the most bytes: half of the record, since
// the verifier adds the bounds of place and length.
#define GATHER_BUFFERS 16
#define GATHER_FEW ((1024 - sizeof(struct lc_data)) / 2)
#define GATHER_BYTES ((4096 - sizeof(struct lc_data)) / 2)

// How many bytes the next buffers have together that go into one record as they
// are; 0 where it would be one buffer.
__noinline int gatherable(struct emission *e)
{
	__u32 total, buffers;
	struct user_iovec v;

	if (!e)
		return 0;
	total = e->len;
	buffers = total > 0;
	for (__u32 i = 0; i < GATHER_BUFFERS && i < e->iovs && total < e->left; i++) {
		if (bpf_probe_read_user(&v, sizeof(v), (const void *)(e->iov + i * sizeof(v))))
			break;
		if (v.len > GATHER_BYTES || total + v.len > GATHER_BYTES)
			break;
		total += v.len;
		buffers += v.len > 0;
	}
	if (total > e->left)
		total = e->left;
	return buffers < 2 ? 0 : total;
}

// One record of a constant size with the next total bytes, as gatherable has
// found them. Returns what emit_512 does.
#define GATHER_CLASS(size)                                                                  \
	__noinline int gather_##size(struct emission *e, __u32 total)                       \
	{                                                                                    \
		struct lc_data *d;                                                           \
		struct user_iovec v;                                                         \
		__u64 have = 0, n; /* of 64 bits, whose bounds Linux 6.1 knows exactly */    \
                                                                                             \
		if (!e)                                                                      \
			return FULL;                                                         \
		d = bpf_ringbuf_reserve(&data_ring, (size), 0);                              \
		if (!d) {                                                                    \
			next_seq();                                                          \
			return FULL;                                                         \
		}                                                                            \
		fill_header(d, e, total, 0);                                                 \
		for (int i = 0; i < 2 * GATHER_BUFFERS && have < total; i++) {               \
			if (e->len == 0) {                                                   \
				if (bpf_probe_read_user(&v, sizeof(v), (const void *)e->iov)) \
					break;                                               \
				e->iov += sizeof(v);                                         \
				e->iovs--;                                                   \
				e->base = v.base;                                            \
				e->len = v.len;                                              \
			}                                                                    \
			n = total - have;                                                    \
			if (e->len < n)                                                      \
				n = e->len;                                                  \
			asm volatile("" : "+r"(n), "+r"(have));                              \
			if (n > ((size) - sizeof(*d)) / 2 || have > ((size) - sizeof(*d)) / 2) \
				break;                                                       \
			if (bpf_probe_read_user((void *)(d + 1) + have, n, (const void *)e->base)) \
				break;                                                       \
			have += n;                                                           \
			e->len -= n;                                                         \
			e->base += n;                                                        \
		}                                                                            \
		if (have < total) {                                                          \
			d->have = have;                                                      \
			d->why = COUNT_EFAULT;                                               \
		}                                                                            \
		bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);                                     \
		return have;                                                                 \
	}

GATHER_CLASS(1024)
GATHER_CLASS(4096)

#endif
