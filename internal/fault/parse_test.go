package fault

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	s, err := Parse(map[string]any{
		"name": "slow-tool", "layer": "integration", "type": "delay", "delay": "500ms", "jitter": "100ms", "share": "5%",
		"window": map[string]any{"from": "2m", "for": "1m"},
		"target": map[string]any{"kind": "openai.chat", "path": "/v1/*/completions", "model": "m", "sessions": 0.2},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "integration.delay,name=slow-tool,jitter=100ms,share=5%,kind=openai.chat,path=/v1/*/completions,model=m,sessions=20%,from=2m0s,for=1m0s"
	if got := s.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if s.duration("delay") != 500*time.Millisecond || s.Kind() != "fault/integration.delay" || s.Share != 0.05 {
		t.Errorf("delay %v, kind %s, share %v", s.duration("delay"), s.Kind(), s.Share)
	}
}

// TestFlagRoundTrip: what String prints is read as the same fault.
func TestFlagRoundTrip(t *testing.T) {
	for in, want := range map[string]string{
		"delay,share=5%,delay=500ms,from=10s,for=20s": "integration.delay,share=5%,from=10s,for=20s",
		"network.bandwidth,rate=64KB/s":               "network.bandwidth,rate=64KB/s",
		"limit_data,bytes=1500B":                      "network.limit-data,bytes=1500B",
		"latency_spike":                               "service.latency-spike,for=500ms",
		"http-429,retryAfter=2s,name=busy":            "integration.http-429,name=busy,retry-after=2s",
		"token-noise,ratio=0.1":                       "input.token-noise,ratio=10%",
		"insert,text=roleplay":                        "input.insert,text=roleplay",
		"http-5xx,status=503":                         "integration.http-5xx,status=503",
		"embedding-drift":                             "retrieval.embedding-drift",
	} {
		s, err := ParseFlag(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := s.String(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		again, err := ParseFlag(s.String())
		if err != nil {
			t.Errorf("%s: read again: %v", s.String(), err)
		} else if diff := cmp.Diff(s, again, cmp.AllowUnexported(Spec{}, value{})); diff != "" {
			t.Errorf("%s read again: %s", s.String(), diff)
		}
	}
}

// TestRefused: one line that names the field and ends with what to try.
func TestRefused(t *testing.T) {
	for in, want := range map[string][2]string{ // field, part of the message
		"dely":                                  {"type", "did you mean delay?"},
		"gremlin":                               {"type", "use one of bad-json"},
		"netwerk.delay":                         {"layer", "did you mean network?"},
		"network.delay":                         {"type", `unknown fault "delay" of layer network`},
		"bandwidth,rate=1KB/s":                  {"type", "say which: integration.bandwidth or network.bandwidth"},
		"network.bandwidth":                     {"rate", "rate such as 64KB/s"},
		"delay,dealy=5ms":                       {"dealy", "did you mean delay?"},
		"delay,delay=500":                       {"delay", "has no unit"},
		"delay,delay=5 parsecs":                 {"delay", "is no duration"},
		"delay,delay=-5ms":                      {"delay", "is no duration"},
		"delay,share=150%":                      {"share", "want 0% to 100%"},
		"delay,share=5":                         {"share", "want 0% to 100%"},
		"delay,share=0":                         {"share", "leave the fault out"},
		"delay,share=NaN":                       {"share", "is no share"},
		"delay,from=x":                          {"window.from", "is no duration"},
		"delay,for=0s":                          {"window.for", "the window is empty"},
		"delay,kind=openai.chatt":               {"target.kind", "unknown api kind"},
		"delay,path=v1":                         {"target.path", "is no pattern"},
		"delay,path=/[":                         {"target.path", "is no pattern"},
		"delay,sessions=200%":                   {"target.sessions", "out of range"},
		"delay,delay":                           {"", "is no key=value"},
		"delay,share=5%,share=6%":               {"", "given twice"},
		"http-5xx,status=404":                   {"status", "out of range"},
		"http-5xx,status=500.5":                 {"status", "whole number"},
		"insert,text=hack":                      {"text", "none of ignore"},
		"delay,name=" + strings.Repeat("x", 65): {"name", "longer than 64 bytes"},
	} {
		_, err := ParseFlag(in)
		var fault *Error
		if !errors.As(err, &fault) {
			t.Errorf("%s: error %v, want a fault.Error", in, err)
			continue
		}
		text := err.Error()
		if fault.Field != want[0] || !strings.Contains(text, want[1]) || strings.Contains(text, "\n") || fault.Hint == "" {
			t.Errorf("%s:\n got  %q (field %q)\n want %q (field %q)", in, text, fault.Field, want[1], want[0])
		}
	}
	for _, members := range []map[string]any{
		{},
		{"type": 5},
		{"type": "delay", "window": "10s"},
		{"type": "delay", "window": nil},
		{"type": "delay", "name": ""},
		{"type": "delay", "window": map[string]any{"until": "5s"}},
		{"type": "delay", "delay": []any{1}},
		{"type": "delay", "retryAfter": "x", "retry_after": "y"},
	} {
		var fault *Error
		if _, err := Parse(members); !errors.As(err, &fault) || fault.Hint == "" {
			t.Errorf("%v: error %v, want a fault.Error with a hint", members, err)
		}
	}
}

func TestTogether(t *testing.T) {
	for _, tt := range []struct {
		faults []string
		want   string // "" = they can be combined
	}{
		{[]string{"delay", "http-429,share=5%", "cut"}, ""},
		{[]string{"delay", "delay"}, `two faults are named "delay"`},
		{[]string{"delay", "delay,name=other"}, ""},
		{[]string{"http-429", "delay"}, ""}, // delayed, then refused
		{[]string{"retry-storm", "http-5xx"}, ""},
		{[]string{"cut", "http-429"}, "generation.cut cannot be combined with"},
		{[]string{"http-429", "network.latency"}, "network.latency cannot be combined with"},
		{[]string{"http-429,for=10s", "cut,from=10s"}, ""},
		{[]string{"http-429,for=10s", "cut,from=5s"}, ""}, // from 10 s on it acts
		{[]string{"http-429,for=10s", "cut,from=5s,for=5s"}, "cannot be combined"},
		{[]string{"http-429,path=/v1/embeddings", "cut,path=/v1/chat/completions"}, ""},
		{[]string{"http-429,path=/v1/embeddings", "cut,path=/v1/embeddings"}, "cannot be combined"},
		{[]string{"reset", "cut"}, "it resets the connection"},
		{[]string{"reset,after=100B", "cut"}, ""},
		{[]string{"empty", "rerank"}, "it takes all hits away"},
		{[]string{"empty", "embedding-drift"}, ""},
		{[]string{"network.latency", "network.bandwidth,rate=1MB/s"}, ""},
	} {
		specs := parseAll(t, tt.faults...)
		err := CheckTogether(specs)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.faults, err, tt.want)
		}
	}
}

func parseAll(t testing.TB, flags ...string) (specs []Spec) {
	t.Helper()
	for _, flag := range flags {
		s, err := ParseFlag(flag)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	return specs
}

func TestWindowOutsideTheRun(t *testing.T) {
	for flag, want := range map[string]string{
		"delay,from=60s":         `fault "delay": window.from: starts at 1m0s`,
		"delay,from=50s,for=20s": `fault "delay": window.for: ends at 1m10s`,
		"delay,from=50s,for=10s": "",
		"delay,from=50s":         "",
	} {
		specs := parseAll(t, flag)
		err := specs[0].CheckWindow(time.Minute)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
	}
}

// TestTable: names are unique in their layer, defaults can be read, and each
// layer has a fault.
func TestTable(t *testing.T) {
	seen, layers := map[string]bool{}, map[Layer]bool{}
	for i := range table {
		k := &table[i]
		if seen[k.label()] || k.about == "" {
			t.Errorf("%s: twice, or without words", k.label())
		}
		seen[k.label()], layers[k.layer] = true, true
		for _, p := range k.params {
			if p.about == "" {
				t.Errorf("%s: %s has no words", k.label(), p.name)
			}
			if p.def != "" {
				p.zero()
			}
		}
	}
	if len(layers) != len(Layers) {
		t.Errorf("faults of %d layers, want %d", len(layers), len(Layers))
	}
}
