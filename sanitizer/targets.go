package sanitizer

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/lambdac/lambdac/trace"
)

// maxTargets bounds the captured hosts that are hashed.
const maxTargets = 64

// targetSet hashes each captured host and server address with its port, once,
// beside the capture: one hash takes about 50 ms by intent.
type targetSet struct {
	seen  map[hostPort]struct{}
	queue chan hostPort
	ended chan struct{}
	// over counts hosts beyond the bound.
	over int64

	mu     sync.Mutex
	hashes []trace.TargetHash
	err    error
}

type hostPort struct {
	host string
	port int
}

func startTargets() *targetSet {
	t := &targetSet{
		seen:  make(map[hostPort]struct{}),
		queue: make(chan hostPort, maxTargets),
		ended: make(chan struct{}),
	}
	go func() {
		defer close(t.ended)
		for hp := range t.queue {
			hash, err := trace.HashTarget(hp.host, hp.port)
			t.mu.Lock()
			if err != nil {
				t.err = err
			} else {
				t.hashes = append(t.hashes, hash)
			}
			t.mu.Unlock()
		}
	}()
	return t
}

// add notes the target of one exchange: its Host name with the port named
// there, else the server's own and the scheme's; and the server's address.
func (t *targetSet) add(host string, server netip.AddrPort, tls bool) {
	name, port := splitHost(host)
	serverPort := int(server.Port())
	if server.IsValid() {
		t.note(hostPort{server.Addr().Unmap().String(), serverPort})
	}
	switch {
	case name == "":
	case port != 0:
		t.note(hostPort{name, port})
	default:
		if serverPort != 0 {
			t.note(hostPort{name, serverPort})
		}
		port = 80
		if tls {
			port = 443
		}
		t.note(hostPort{name, port})
	}
}

func (t *targetSet) note(hp hostPort) {
	if _, ok := t.seen[hp]; ok {
		return
	}
	if len(t.seen) >= maxTargets {
		t.over++
		return
	}
	hp.host = strings.Clone(hp.host)
	t.seen[hp] = struct{}{}
	t.queue <- hp // never blocks: the queue holds as many as may be seen
}

// take returns the hashes made since the last call.
func (t *targetSet) take() []trace.TargetHash {
	t.mu.Lock()
	defer t.mu.Unlock()
	hashes := t.hashes
	t.hashes = nil
	return hashes
}

// stop waits until all are hashed.
func (t *targetSet) stop() error {
	close(t.queue)
	<-t.ended
	clear(t.seen)
	return t.err
}

// splitHost reads a Host header or authority: name in lower case without
// brackets and trailing dot; port 0 where none is named.
func splitHost(host string) (name string, port int) {
	name = strings.ToLower(strings.TrimSpace(host))
	bare, digits, ok := cutLast(name, ":")
	if ok && (!strings.Contains(bare, ":") || strings.HasSuffix(bare, "]")) { // else IPv6 without brackets
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
			name, port = bare, int(n)
		}
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return strings.TrimSuffix(name, "."), port
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
