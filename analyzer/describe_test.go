package analyzer

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// writeTrace writes a trace of n exchanges and opens it again.
func writeTrace(t *testing.T, n int, edit func(i int, r *trace.Record)) *tracedir.Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	m := &trace.Manifest{
		Version: "test", Origin: trace.OriginCapture, TimeBase: trace.TimeUnix, Clean: true,
		Seal:   &trace.Seal{Mode: trace.ModeShape, Version: "s1", PolicyHash: "p1"},
		Losses: trace.LossTotals{BytesSeen: 1000, BytesLost: 40, LostByReason: map[string]int64{"gap": 40}, Unpaired: 3},
	}
	w, err := tracedir.Create(path, m, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := new(trace.Record)
		r.RequestID = fmt.Sprint(i)
		r.APIKind, r.TokenSource, r.SampledWeight, r.ArrivalResolutionNs = trace.KindOpenAIChat, trace.TokensUsage, 1, 1
		r.SetOutcome(trace.OutcomeOK, "")
		r.StartUnixNs = int64(i) * second
		edit(i, r)
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDescribe(t *testing.T) {
	s, err := Describe(writeTrace(t, 300, func(i int, r *trace.Record) {
		r.RequestModel = new("m")
		r.InputTokens, r.OutputTokens = new(int64(i+1)), new(int64(10))
		r.SessionID = new(fmt.Sprint("s", i/3))
		r.PrefixBlockSize, r.PrefixBlockUnit = new(int32(64)), new(trace.UnitByte)
		r.PrefixBlockIDs = []int64{0, int64(i + 1)}
		if i%10 == 0 {
			r.SetOutcome(trace.OutcomeHTTPError, "")
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := &Summary{
		Schema: SummarySchema, Version: "test", Warnings: []string{}, Exchanges: 300,
		Outcomes: map[string]int64{"ok": 270, "http_error": 30}, APIKinds: map[string]int64{"openai.chat": 300},
		FirstUnixNs: new(int64(0)), LastUnixNs: new(299 * second), TimeBase: "unix",
		Bytes: SummaryBytes{Wire: new(int64(1000)), Captured: new(int64(960)), Lost: new(int64(40))}, Losses: map[string]int64{"gap": 40}, Unpaired: 3, Sealed: true,
		Sanitizer: &SummarySanitizer{Mode: "shape", Version: "s1", PolicyHash: "p1"},
		Rates: Rates{
			SpanS: 299, MeanPerS: new(1.0), GapCV: new(0.0), Stationary: "yes",
			Busiest: []BusyWindow{{0, 60, 1}, {60 * second, 60, 1}, {120 * second, 60, 1}},
		},
		Tokens: Tokens{
			Input:   Lengths{N: 300, Mean: new(150.5), P50: new(150.0), P90: new(270.0), P99: new(297.0), Max: new(300.0)},
			Output:  Lengths{N: 300, Mean: new(10.0), P50: new(10.0), P90: new(10.0), P99: new(10.0), Max: new(10.0)},
			Sources: map[string]int64{"usage": 300},
		},
		Models: map[string]int64{"m": 300}, Sessions: Sessions{Sessions: 100, InSession: 300},
		Prefix: PrefixSharing{Blocks: 600, SeenShare: new(299.0 / 600), BlockSize: new(int32(64)), BlockUnit: new("byte")},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestDescribeArrivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	at := make([]int64, 2000)
	clock := 0.0
	tests := []struct {
		name          string
		gap           func(i int) float64
		cvLow, cvHigh float64
		stationary    string
	}{
		{"poisson", func(int) float64 { return rng.ExpFloat64() }, 0.93, 1.07, "yes"},
		{"bursts of ten", func(i int) float64 {
			if i%10 == 0 {
				return 9.91 * rng.ExpFloat64()
			}
			return 0.01
		}, 2, 6, "yes"},
		{"rate doubles", func(i int) float64 { return rng.ExpFloat64() / (1 + float64(i/1000)) }, 1, 1.2, "no"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clock = 0
			for i := range at {
				clock += test.gap(i)
				at[i] = int64(clock * 1e9)
			}
			s, err := Describe(writeTrace(t, len(at), func(i int, r *trace.Record) { r.StartUnixNs = at[i] }))
			if err != nil {
				t.Fatal(err)
			}
			if cv := *s.Rates.GapCV; cv < test.cvLow || cv > test.cvHigh {
				t.Errorf("CV %g, want in [%g, %g]", cv, test.cvLow, test.cvHigh)
			}
			if s.Rates.Stationary != test.stationary {
				t.Errorf("stationary %q, want %q", s.Rates.Stationary, test.stationary)
			}
		})
	}
}

// Mooncake's conversation trace has a grid of three seconds: its burstiness
// is that of the grid.
func TestDescribeCoarseGrid(t *testing.T) {
	s, err := Describe(writeTrace(t, 500, func(i int, r *trace.Record) {
		r.StartUnixNs = int64(i/10) * 3 * second
		r.ArrivalResolutionNs = 3 * second
	}))
	if err != nil {
		t.Fatal(err)
	}
	if s.Rates.GapCV != nil || s.Rates.Reason == "" {
		t.Errorf("rates: %+v", s.Rates)
	}
}

func TestDescribeEmpty(t *testing.T) {
	s, err := Describe(writeTrace(t, 0, nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.Exchanges != 0 || s.FirstUnixNs != nil || s.Rates.MeanPerS != nil || s.Prefix.SeenShare != nil || s.Tokens.Input.P50 != nil {
		t.Errorf("summary of nothing: %+v", s)
	}
}

func TestLengthsBuckets(t *testing.T) {
	for _, v := range []int64{0, 1, 4095, 4096, 4097, 8191, 8192, 1 << 20, 1<<62 + 12345} {
		got := valueOf(bucketOf(v))
		if got > v || float64(v-got) > float64(v)/2048 {
			t.Errorf("%d falls into the bucket of %d", v, got)
		}
	}
	last := -1
	for v := range int64(20000) {
		if b := bucketOf(v); b < last || b > last+1 {
			t.Fatalf("bucket of %d is %d after %d", v, b, last)
		} else {
			last = b
		}
	}
}

// A recording that was killed has no totals: they are in the capture table.
func TestDescribeKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	w, err := tracedir.Create(path, &trace.Manifest{Origin: trace.OriginCapture, Seal: &trace.Seal{Mode: trace.ModeShape, Version: "s1"}}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []trace.CaptureWindow{
		{WindowStartUnixNs: 0, ExchangesSeen: 3, ExchangesWritten: 1, OpenAtEnd: 2, BytesSeen: 100, BytesLost: 10, LostByReason: map[string]int64{"gap": 10}},
		{WindowStartUnixNs: second, ExchangesSeen: 1, ExchangesWritten: 2, OpenAtEnd: 1, BytesSeen: 50, Unpaired: 1},
	} {
		if err := w.WriteCapture(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := tracedir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{s.Bytes, s.Losses, s.Unpaired, s.Warnings}
	want := []any{
		SummaryBytes{Wire: new(int64(150)), Captured: new(int64(140)), Lost: new(int64(10))},
		map[string]int64{"gap": 10},
		int64(1),
		[]string{
			"the recording was cut short: what was open at its end is missing (1 exchanges in the last second that was accounted for)",
			"3 exchanges that were counted as written are not here",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What nobody counted is not zero.
func TestDescribeUnknownBytes(t *testing.T) {
	for _, m := range []trace.Manifest{{Origin: trace.OriginImport, Clean: true}, {Origin: trace.OriginCapture}} {
		if b := bytesOf(&m, new(trace.LossTotals), 7); b.Wire != nil || b.Captured != nil || b.Lost != nil || b.Reason == "" {
			t.Errorf("%s: %+v", m.Origin, b)
		}
	}
}
