package main

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lambdac/lambdac/internal/telemetry"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// samples checks that each metric named has a value in a run's telemetry:
// samples RUN SOURCE METRIC|METRIC…
func samples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: samples RUN SOURCE METRIC|METRIC…")
	}
	dir, err := tracedir.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	found := make(map[string]string)
	for s, err := range tracedir.Rows[trace.Sample](dir) {
		ts.Check(err)
		switch {
		case string(s.Source) != args[1]:
		case s.Value != nil:
			found[s.Metric] = "value"
		case found[s.Metric] == "":
			found[s.Metric] = *s.Reason
		}
	}
	for metric := range strings.SplitSeq(args[2], "|") {
		if found[metric] != "value" {
			ts.Fatalf("%s of %s: %q, want a value", metric, args[1], found[metric])
		}
	}
}

// restarting is a server in front of which a counter begins again at each fourth
// scrape.
func restarting(server http.Handler) http.Handler {
	var scrapes atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			server.ServeHTTP(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, "vllm:prompt_tokens_total %d\n", 100*(scrapes.Add(1)%4))
	})
}

func TestWhereTheTargetIs(t *testing.T) {
	own := "127.0.0.1"
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, is := a.(*net.IPNet); is && n.IP.To4() != nil && !n.IP.IsLoopback() {
			own = n.IP.String()
		}
	}
	rows := []struct {
		target string
		port   int
		local  bool
	}{
		{"http://127.0.0.1:8000", 8000, true},
		{"http://[::1]:8000/v1", 8000, true},
		{"http://" + own, 80, true},
		{"https://192.0.2.1", 443, false}, // TEST-NET-1
		{"http://192.0.2.1:8000", 8000, false},
		{"://", 0, false},
	}
	for _, row := range rows {
		if port, local := onThisMachine(t.Context(), row.target); port != row.port || local != row.local {
			t.Errorf("%s: %d, %v; want %d, %v", row.target, port, local, row.port, row.local)
		}
	}
}

func TestTelemetryOff(t *testing.T) {
	w, err := (&telemetryFlags{parts: []string{"off"}, every: time.Second}).config(&replayer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.open(t.Context(), "http://127.0.0.1:8000")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Sources()) != 0 {
		t.Errorf("sampled: %+v", s.Sources())
	}
}

func TestTelemetryWarnings(t *testing.T) {
	sum := &telemetry.Summary{
		Sources: []telemetry.Source{
			{Name: "buddy"},
			{Name: "gpu", Absent: "there is none"},
			{Name: "kmsg", Holes: 3, Reasons: map[string]int64{"b": 1, "a": 2}, Abandoned: true},
		},
		Restarts:  []telemetry.Restart{{Name: "http://x", AtUnixNs: 1e18}},
		ClockStep: -5e9,
	}
	got := telemetryWarnings(sum)
	for _, want := range []string{`^telemetry of kmsg has 3 holes: a \(2\), b \(1\)$`, "^telemetry of kmsg: .*given up", "^counters of http://x began again at 2001-09-09T01:46:40Z", "set by -5s"} {
		if !slices.ContainsFunc(got, regexp.MustCompile(want).MatchString) {
			t.Errorf("no warning %q in %q", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d warnings %q, want 4", len(got), got)
	}
}

func TestRestartsFlagTheirLevel(t *testing.T) {
	levels := []trace.Level{{BeginUnixNs: 10, EndUnixNs: 20, DrainedUnixNs: 25}, {BeginUnixNs: 30, EndUnixNs: 40}, {BeginUnixNs: 50, EndUnixNs: 60}}
	flagRestarts(levels, []telemetry.Restart{{AtUnixNs: 24}, {AtUnixNs: 45}, {AtUnixNs: 50}})
	var got []int
	for _, l := range levels {
		got = append(got, len(l.Warnings))
	}
	if !slices.Equal(got, []int{1, 0, 1}) {
		t.Errorf("warnings a level %v, want 1, 0, 1", got)
	}
}
