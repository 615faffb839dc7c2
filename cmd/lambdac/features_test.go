package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// TestFeaturesReachTheAnalysis: a replay with features gives semantic entropy
// and steady state a verdict, from the run's own files.
func TestFeaturesReachTheAnalysis(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	// Pools of the Parquet library must not outlive a bubble: a process of its own.
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFeaturesChild$")
	child.Env = append(os.Environ(), childFeatures+"="+run)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	done, err := tracedir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	a, err := analyzer.Analyze(done, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e := a.Entropy; e == nil || e.Verdict == analyzer.Insufficient || e.Method == nil || *e.Method != "lexical" {
		t.Errorf("entropy: %+v", e)
	}
	if s := a.SteadyState; s == nil || s.Verdict == analyzer.Insufficient {
		t.Errorf("steady state: %+v", s)
	}
}

const childFeatures = "LAMBDAC_TEST_FEATURES"

// TestFeaturesChild is the process of TestFeaturesReachTheAnalysis.
func TestFeaturesChild(t *testing.T) {
	run := os.Getenv(childFeatures)
	if run == "" {
		return
	}
	at := filepath.Join(t.TempDir(), "trace")
	command(t, 0, "datasets", "healthy", "-o", at)
	synctest.Test(t, func(t *testing.T) { featuresRun(t, at, run) })
}

// featuresRun replays a trace at two loads against the simulator, in virtual time.
func featuresRun(t *testing.T, from, to string) {
	server, err := sim.New(sim.Config{Params: twin.DemoParams(1), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	network := newPipes()
	httpServer := &http.Server{Handler: server}
	serving := make(chan error, 1)
	go func() { serving <- httpServer.Serve(network) }()
	cfg := replayer.Config{
		Target: "http://sim", Loads: []replayer.Load{{PerS: 5}, {PerS: 20}}, NoRepeat: true,
		Hold: 200 * time.Second, Seed: 1, Features: 0.1, SharedProcess: true, Dial: network.Dial,
	}
	if _, err := replayTrace(t.Context(), cfg, replayJob{trace: from, out: to}); err != nil {
		t.Error(err)
	}
	_ = httpServer.Close()
	<-serving
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
