package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/experiment"
)

// TestBadExperiment: what is wrong with an experiment is told with line and
// column, and nothing is made or sent.
func TestBadExperiment(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace")
	command(t, 0, "record", "--pcap", "../../recorder/testdata/captures/o-longer-mixed.pcap", "-o", path, "--quiet")
	for _, tt := range []struct{ name, rest, want string }{
		{"unknown key", "lods: [1]", `line 7, column 3: unknown field "lods"`},
		{"no load", "load: {hold: 1s}", "line 7, column 9: want one of rate, levels, scale, concurrency and search, got 0"},
		{"two kinds of load", "load: {rate: 1, levels: [1, 2]}", "line 7, column 9: want one of .* got 2"},
		{"unit", "load: {rate: 1, hold: 60 parsecs}", `line 7, column 25: load.hold: .*unknown unit " parsecs"`},
		{"no number", "load: {levels: [abc]}", "line 7, column 19: .*"},
		{"level 0", "load: {levels: [0, 5]}", "line 7, column 18: .*load 0"},
		{"negative rate", "load: {rate: -1}", "line 7, column 16: .*load -1"},
		{"scaling", "load: {rate: 1, scaling: magic}", `line 7, column 28: replay cannot start: unknown scaling "magic"`},
		{"ramp", "load: {rate: 1, ramp: 2m}", "line 7, column 25: replay cannot start: ramp 2m0s of a warm-up of 10s"},
		{"cache", "load: {rate: 1}\n  cache: hot", `line 8, column 10: replay cannot start: unknown cache state "hot"`},
		{"no load in search", "load: {search: {from: x, to: 3}}", `line 7, column 25: "x" is no load`},
		{"search order", "load: {search: {from: 3, to: 0.5}}", "line 7, column .*want 0 < from < to"},
		{"mode", "load: {rate: 1, mode: sideways}", `line 7, column 25: mode "sideways": want one of open, closed`},
		{"mode of another loop", "load: {rate: 1, mode: closed}", "line 7, column 25: mode closed does not go with these loads"},
		{"none in flight", "load: {concurrency: [2, -1]}", "line 7, column 23: replay cannot start: -1 in flight"},
		{"a closed loop scaled", "load: {concurrency: [2], scaling: thin}", "line 7, column .*: replay cannot start: a closed loop has no arrivals"},
		{"key twice", "load: {rate: 1}\n  load: {rate: 2}", "line 8, column 3: .*already defined"},
		{"reserved", "load: {rate: 1}\n  arms: [{name: a}]", "line 8, column .*: arms is a name for later"},
		{"metric", "load: {rate: 1}\n  objectives: [{metric: speed, max: 1s}]", `line 8, column 16: .*unknown metric "speed"`},
		{"no floor", "load: {rate: 1}\n  objectives: [{metric: lambda_c, max: 1s}]", "line 8, column 16: lambda_c takes min"},
		{"no ceiling", "load: {rate: 1}\n  objectives:\n    - {metric: e2e, quantile: 0.5, max: 1s}\n    - {metric: e2e, min: 1s}", "line 10, column 7: e2e takes max"},
		{"error rate", "load: {rate: 1}\n  stop: {errorRate: 50%}", "line 8, column 21: stop.errorRate: say over which time"},
		{"count", "load: {rate: 1}\n  stop: {maxTokens: many}", `line 8, column 21: stop.maxTokens: "many" is no count`},
		{"token limit", "load: {rate: 1}\n  stop: {maxInFlight: -4}", "line 8, column 23: replay cannot start: in-flight limit -4"},
		{"cost without a price", "load: {rate: 1}\n  stop: {maxCost: 5}", "line 8, column 19: replay cannot start: a cost of at most 5"},
		{"arrivals", "load: {rate: 1, arrivals: sometimes}", `line 7, column .*: .*--arrivals "sometimes"`},
		{"tolerance", "load: {rate: 1}\n  baseline: {run: x, tolerance: 500%}", `line 8, column 33: "500%": not a share`},
		{"header", "load: {rate: 1}\n  sessions: odd", `line 8, column 13: replay cannot start: unknown way "odd"`},
		{"unknown fault", "load: {rate: 1}\n  faults: [{layer: integration, type: quake}]", `line 8, column 39: fault: type: unknown fault "quake"`},
		{"share of a fault", "load: {rate: 1}\n  faults: [{type: delay, layer: integration, share: 150%}]", `line 8, column .*: fault "delay": share: .*150`},
		{"key of a fault", "load: {rate: 1}\n  faults: [{type: delay, layer: integration, speed: 5}]", `line 8, column .*: fault "delay": speed: `},
		{"window of a fault", "load: {rate: 1}\n  faults:\n    - {type: delay, layer: integration, window: {from: 2m, for: 1m}}", `line 9, column 56: fault "delay": window.from: starts at 2m0s`},
		{"two faults of one name", "load: {rate: 1}\n  faults:\n    - {type: delay, layer: integration}\n    - {type: http-429, layer: integration, name: delay}", `line 10, column 50: fault: name: two faults are named`},
		{"layer of a fault", "load: {rate: 1}\n  faults: [{layer: plumbing, type: delay}]", `line 8, column 20: fault: layer: unknown layer "plumbing"`},
		{"unit of a fault", "load: {rate: 1}\n  faults: [{type: delay, layer: integration, delay: 5 parsecs}]", `line 8, column 53: fault "delay": delay: "5 parsecs" is no duration`},
		{"faults that cannot be combined", "load: {rate: 1}\n  faults:\n    - {type: http-429}\n    - {type: truncate}", `line 10, column 14: fault "truncate": type: input.truncate cannot be combined with "http-429"`},
		{"control", "load: {rate: 1}\n  control: {synthetic: false}", "line 8, column 24: a control arm is synthetic"},
		{"GPU", "load: {rate: 1}\n  telemetry: {gpu: maybe}", `line 8, column 20: gpu "maybe": want one of auto, on, off`},
		{"probes", "load: {rate: 1}\n  probes: mine", `line 8, column 11: probes "mine": want one of builtin`},
		{"probe share", "load: {rate: 1}\n  probes: builtin\n  probeShare: 90%", "line 9, column 15: replay cannot start: share 0.9 of questions"},
		{"bomb", "load: {levels: &a [1, 2], scale: *a}", "line 7, column 18: anchors and aliases"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad.yaml")
			text := fmt.Sprintf("apiVersion: lambdac/v1\nkind: Experiment\nmetadata: {name: bad}\nspec:\n  trace: {path: %s}\n  target: {url: http://127.0.0.1:1}\n  %s\n", path, tt.rest)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "run")
			_, stderr := command(t, 3, "run", file, "-o", out)
			first, hint, _ := strings.Cut(stderr, "\n")
			if !regexp.MustCompile(`^lambdac: error: read ".*bad.yaml": ` + tt.want).MatchString(first) {
				t.Errorf("%s\nwant …%s", first, tt.want)
			}
			if strings.Count(hint, "\n") != 1 || !strings.HasPrefix(hint, "lambdac: hint: ") {
				t.Errorf("hint %q", hint)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a run was made")
			}
		})
	}
}

func TestMissingHeaderVariable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	text := "apiVersion: lambdac/v1\nkind: Experiment\nmetadata: {name: x}\nspec:\n  trace: {path: t}\n  load: {rate: 1}\n" +
		"  target:\n    url: http://h\n    headersFromEnv: {Authorization: LAMBDAC_TEST_NO_SUCH_TOKEN}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := experiment.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(x, "out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.config(x); err == nil || !strings.Contains(err.Error(), "line 9, column 37: the environment has no LAMBDAC_TEST_NO_SUCH_TOKEN") {
		t.Error(err)
	}
}

// TestExperimentExamples: the examples of the documentation are experiments.
func TestExperimentExamples(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("kind: Experiment")) {
			continue // a pipeline
		}
		x, err := experiment.Read(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := newPlan(x, "out"); err != nil {
			t.Error(err)
		}
	}
}

// command runs the program and returns what it printed.
func command(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("lambdac %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, errs.String())
	}
	return out.String(), errs.String()
}
