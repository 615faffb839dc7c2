package sanitizer

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestSplitHost(t *testing.T) {
	for _, tc := range []struct {
		host, name string
		port       int
	}{
		{"LLM.example.com.:8000", "llm.example.com", 8000},
		{"llm.example.com", "llm.example.com", 0},
		{"[2001:DB8::1]:443", "2001:db8::1", 443},
		{"[2001:db8::1]", "2001:db8::1", 0},
		{"2001:db8::1", "2001:db8::1", 0},
		{"host:port", "host:port", 0},
		{"host:99999", "host:99999", 0},
		{"", "", 0},
	} {
		if name, port := splitHost(tc.host); name != tc.name || port != tc.port {
			t.Errorf("splitHost(%q) = %q, %d; want %q, %d", tc.host, name, port, tc.name, tc.port)
		}
	}
}

func TestCapturedTargets(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey}, out)
	for i := range uint64(3) {
		if err := s.Take(chat(i, 0, messages("a"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []hostPort{{"llm.example.com", 8000}, {"192.0.2.1", 8000}} {
		if !named(t, out.manifest.CapturedTargets, want) {
			t.Errorf("%s:%d is not among the captured targets", want.host, want.port)
		}
	}
	if len(out.manifest.CapturedTargets) != 2 {
		t.Errorf("%d targets, want each once", len(out.manifest.CapturedTargets))
	}
}

func named(t *testing.T, hashes []trace.TargetHash, hp hostPort) bool {
	t.Helper()
	for _, h := range hashes {
		ok, err := h.Is(hp.host, hp.port)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return true
		}
	}
	return false
}

func TestTargetsAreBounded(t *testing.T) {
	// No goroutine: the queue alone must hold all that may be noted.
	set := &targetSet{seen: make(map[hostPort]struct{}), queue: make(chan hostPort, maxTargets)}
	for i := range 200 {
		set.add(fmt.Sprintf("h%d.example.com:80", i), netip.AddrPort{}, false)
	}
	if len(set.seen) != maxTargets || set.over != 200-maxTargets {
		t.Errorf("%d noted, %d over", len(set.seen), set.over)
	}
}
