package replayer

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

func TestPreflight(t *testing.T) {
	answer := func(status int, contentType string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "/login")
			w.WriteHeader(status)
		}
	}
	rows := []struct {
		name   string
		answer http.HandlerFunc
		want   string // in the error; "" = passes
	}{
		{"API", answer(200, "application/json"), ""},
		{"API without a list of models", answer(404, "application/json"), ""},
		{"busy API", answer(503, "text/plain"), ""},
		{"page", answer(200, "text/html; charset=utf-8"), "answers HTML"},
		{"web server", answer(404, "text/html"), "answers HTML"},
		{"redirect", answer(302, "text/html"), "answers with a redirect (status 302)"},
		{"not HTTP", answer(101, ""), "switches to another protocol"},
		{"locked", answer(401, "application/json"), "LAMBDAC_TARGET_HEADER_AUTHORIZATION"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(row.answer)
			defer server.Close()
			err := Preflight(t.Context(), Config{Target: server.URL}, chatTrace(1, 0).Manifest)
			if row.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPreflightTargetDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	err = Preflight(t.Context(), Config{Target: "http://" + addr}, chatTrace(1, 0).Manifest)
	if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "start the service") {
		t.Errorf("error %v", err)
	}
}

// The service that was recorded is refused by each of its names, and nothing
// is sent to it.
func TestPreflightCapturedHost(t *testing.T) {
	testenv.Long(t)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
	}))
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	other, err := trace.HashTarget("other.example", port)
	if err != nil {
		t.Fatal(err)
	}
	captured, err := trace.HashTarget("127.0.0.1", port)
	if err != nil {
		t.Fatal(err)
	}
	m := chatTrace(1, 0).Manifest
	m.CapturedTargets = []trace.TargetHash{other, captured}
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "[::ffff:127.0.0.1]", "[::]", "[::1]", "127.0.0.2", ownAddress(t)} {
		err = Preflight(t.Context(), Config{Target: fmt.Sprintf("http://%s:%d", host, port)}, m)
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "--allow-production") || asked != 0 {
			t.Errorf("%s: error %v, %d requests", host, err, asked)
		}
	}
	if err := Preflight(t.Context(), Config{Target: server.URL, AllowProduction: true}, m); err != nil || asked != 1 {
		t.Errorf("allowed: error %v, %d requests", err, asked)
	}
	m.CapturedTargets = m.CapturedTargets[:1]
	if err := Preflight(t.Context(), Config{Target: server.URL}, m); err != nil {
		t.Errorf("another host: %v", err)
	}
}

// ownAddress is an address of this machine that is not the loopback's, as far
// as it has one.
func ownAddress(t *testing.T) string {
	t.Helper()
	for _, a := range ownAddrs() {
		if a.Is4() && !a.IsLoopback() {
			return a.String()
		}
	}
	return "127.0.0.1"
}

func TestWithinFiles(t *testing.T) {
	rows := []struct{ limit, files, want int }{
		{4096, 1 << 20, 4096}, {4096, 4160, 4096}, {4096, 4159, 4095}, {4096, 1024, 960}, {4096, 64, 32}, {4096, 1, 1}, {10, 64, 10},
	}
	for _, row := range rows {
		got, warning := withinFiles(row.limit, row.files)
		if got != row.want || (warning != "") != (got != row.limit) {
			t.Errorf("%d in flight, %d files: %d %q, want %d", row.limit, row.files, got, warning, row.want)
		}
	}
}

// Each refusal says what to do, and comes before anything is made.
func TestCheck(t *testing.T) {
	ok := Config{Target: "http://h:1", Loads: []Load{{PerS: 1}}, Hold: time.Minute}
	rows := []struct {
		name   string
		change func(*Config, *Trace)
		want   string
	}{
		{"fine", func(*Config, *Trace) {}, ""},
		{"no target", func(c *Config, _ *Trace) { c.Target = "" }, "--target"},
		{"not a URL", func(c *Config, _ *Trace) { c.Target = "localhost:8000" }, "--target"},
		{"secret in the URL", func(c *Config, _ *Trace) { c.Target = "http://u:p@h" }, "LAMBDAC_TARGET_HEADER_AUTHORIZATION"},
		{"no hold", func(c *Config, _ *Trace) { c.Hold = 0 }, "--hold"},
		{"negative replicates", func(c *Config, _ *Trace) { c.Replicates = -1 }, "--replicates"},
		{"negative tokens", func(c *Config, _ *Trace) { c.MaxTokens = -1 }, "--max-tokens"},
		{"limit that is no number", func(c *Config, _ *Trace) { c.MaxPerS = math.NaN() }, "--max-rate"},
		{"negative deadline", func(c *Config, _ *Trace) { c.Timeouts.Idle = -1 }, "durations such as 30s"},
		{"no load", func(c *Config, _ *Trace) { c.Loads = nil }, "--levels"},
		{"negative load", func(c *Config, _ *Trace) { c.Loads[0].PerS = -1 }, "above 0"},
		{"rate and scale", func(c *Config, _ *Trace) { c.Loads[0].Scale = 1 }, "exactly one"},
		{"unknown scaling", func(c *Config, _ *Trace) { c.Scaling = "stretch" }, "superpose, thin"},
		{"unknown policy", func(c *Config, _ *Trace) { c.CapPolicy = "wait" }, "drop or queue"},
		{"unknown cache", func(c *Config, _ *Trace) { c.Cache = "hot" }, "as_trace, cold or primed"},
		{"window without a request", func(c *Config, _ *Trace) { c.Loads[0].PerS = 0.001 }, "lengthen --hold"},
		{"too many requests", func(c *Config, _ *Trace) { c.Loads[0].PerS = 1e9 }, "shorten --hold"},
		{"above the limit", func(c *Config, _ *Trace) { c.MaxPerS = 0.5 }, "--max-rate"},
		{"thin upwards", func(c *Config, _ *Trace) { c.Scaling, c.Loads[0].PerS = Thin, 100 }, "superpose"},
		{"nothing to send", func(_ *Config, tr *Trace) { tr.Records = tr.Records[:0] }, "lambdac show"},
		{"opaque exchanges only", func(_ *Config, tr *Trace) {
			for _, r := range tr.Records {
				r.APIKind = trace.KindOther
			}
		}, "none of the trace's 10 exchanges"},
		{"all at once", func(_ *Config, tr *Trace) {
			for _, r := range tr.Records {
				r.StartUnixNs = 5
			}
		}, "--scaling resample"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			cfg, tr := ok, chatTrace(10, time.Second)
			cfg.Loads = []Load{ok.Loads[0]}
			row.change(&cfg, &tr)
			err := Check(cfg, tr)
			if row.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q in it", err, row.want)
			}
			if strings.Contains(err.Error(), "u:p") {
				t.Errorf("secret in %v", err)
			}
		})
	}
	tr := chatTrace(10, time.Second)
	tr.Manifest.Seal = nil
	if err := Check(ok, tr); !errors.Is(err, trace.ErrUnsanitized) {
		t.Errorf("without a seal: %v", err)
	}
}
