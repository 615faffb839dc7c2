// Which library's object encrypts a connection, where the library never touches
// the socket: by the first bytes of ciphertext, which are random and pass
// through both. Seen on the socket first, they are found again where the
// process hands them to the library; seen there first, on the socket.
#ifndef LAMBDAC_CIPHER_H
#define LAMBDAC_CIPHER_H

#include "conn.h"

#define CIPHER_PREFIX 32
#define CIPHER_WATCHED (64 << 10) // bytes per direction that are looked at

struct stream_key {
	__u64 tgid;
	__u64 object; // SSL *, or *tls.Conn
};

#define STREAM_FILTERED 1 // of a connection that is not wanted
#define STREAM_DOUBT 2    // two connections could be its own: it stays unbound
#define STREAM_H2 4       // HTTP/2 speaks on it

// An object of a TLS library, from its first call to its end.
struct stream {
	__u64 cookie; // 0 = not bound
	__u64 pos[2]; // plaintext read and written
	__u64 skipped[2];
	__u64 rbio, wbio;
	__u32 generation; // its number: addresses are used again
	__u32 flags;
	__u8 source, pad[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct stream_key);
	__type(value, struct stream);
} streams SEC(".maps");

struct cipher_key {
	__u64 tgid;
	__u8 prefix[CIPHER_PREFIX];
};

struct cipher {
	__u64 cookie; // of the socket on which it was seen
	__u64 object; // that made it
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct cipher_key);
	__type(value, struct cipher);
} ciphers SEC(".maps");

// Gives an object its connection. A second one is a doubt, and never a guess.
static __always_inline void bind(struct stream_key *key, struct stream *s, __u64 cookie)
{
	struct lc_control *e;

	if (s->cookie == cookie || s->flags & STREAM_DOUBT)
		return;
	if (s->cookie) {
		s->flags |= STREAM_DOUBT;
		s->cookie = cookie = 0;
	}
	s->cookie = cookie;
	e = begin_control();
	if (!e)
		return;
	e->kind = EVENT_BIND;
	e->source = s->source;
	e->cookie = cookie;
	e->time = bpf_ktime_get_boot_ns();
	e->tgid = key->tgid;
	e->ssl = key->object;
	e->generation = s->generation;
	end_control(e);
}

// Looks at ciphertext on its way through a socket.
__noinline int note_cipher(struct conn *c, struct emission *e, __u32 n)
{
	struct cipher_key key = {};
	struct stream_key owner = {};
	struct cipher *known, seen = {};
	struct stream *s;

	if (!c || !e || n < CIPHER_PREFIX || e->pos > CIPHER_WATCHED)
		return 0;
	if (bpf_probe_read_user(key.prefix, sizeof(key.prefix), (const void *)first_bytes(e, CIPHER_PREFIX)))
		return 0;
	key.tgid = bpf_get_current_pid_tgid() >> 32;
	known = bpf_map_lookup_elem(&ciphers, &key);
	if (!known) {
		seen.cookie = c->cookie;
		bpf_map_update_elem(&ciphers, &key, &seen, BPF_ANY);
		return 0;
	}
	if (known->cookie && known->cookie != c->cookie) {
		known->cookie = ~0ull; // of two: of none
		return 0;
	}
	known->cookie = c->cookie;
	if (!known->object)
		return 0;
	owner.tgid = key.tgid;
	owner.object = known->object;
	s = bpf_map_lookup_elem(&streams, &owner);
	if (s) {
		bind(&owner, s, c->cookie);
		c->flags |= CONN_BOUND;
	}
	return 0;
}

#endif
