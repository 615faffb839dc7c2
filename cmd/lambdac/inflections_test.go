package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
)

// inflectionsFile is the example that finds the three inflection points.
const inflectionsFile = "../../docs/examples/inflections.yaml"

// TestCalibrateInflections: `lambdac run` on the example finds, of each pathology of
// the simulator, its own inflection and no other, and none on the healthy server.
// The file runs as it stands, twenty minutes of virtual time each.
func TestCalibrateInflections(t *testing.T) {
	testenv.Calibration(t)
	for i, pathology := range []string{twin.BatchQuality, twin.KVFragmentation, twin.ColdPages, ""} {
		t.Run("pathology "+pathology, func(t *testing.T) { checkInflections(t, inflectionsFile, pathology, i) })
	}
}

// TestInflectionsExample is the cheapest of those, at two loads of a third of the
// time.
func TestInflectionsExample(t *testing.T) {
	testenv.Long(t)
	text, err := os.ReadFile(inflectionsFile)
	if err != nil {
		t.Fatal(err)
	}
	shorter := strings.NewReplacer("levels: [6, 50, 105]", "levels: [10, 50]", "hold: 90s", "hold: 36s").Replace(string(text))
	file := filepath.Join(t.TempDir(), "short.yaml")
	if err := os.WriteFile(file, []byte(shorter), 0o600); err != nil {
		t.Fatal(err)
	}
	checkInflections(t, file, twin.ColdPages, 2)
}

// checkInflections runs an experiment and expects that only the inflection of a
// place in the list is found.
func checkInflections(t *testing.T, file, pathology string, own int) {
	t.Helper()
	a := runInVirtualTime(t, file, pathology)
	if a.Validity.Verdict != trace.Valid {
		t.Fatalf("the run is not valid: %v", a.Validity.Reasons)
	}
	for i, got := range a.Inflections {
		t.Logf("%s: %s %s%s", got.ID, got.Verdict, got.Reason, got.Missing)
		if (got.Verdict == analyzer.Found) != (i == own) {
			t.Errorf("%s of a server with pathology %q: %s", got.ID, pathology, got.Verdict)
		}
	}
}

// The environment of TestExperimentChild.
const (
	childExperiment = "LAMBDAC_TEST_EXPERIMENT"
	childPathology  = "LAMBDAC_TEST_PATHOLOGY"
	childRun        = "LAMBDAC_TEST_RUN"
)

// runInVirtualTime runs an experiment against the simulator without waiting, in a
// process of its own; see demoInVirtualTime.
func runInVirtualTime(t *testing.T, file, pathology string) *analyzer.Analysis {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestExperimentChild$")
	child.Env = append(os.Environ(), childExperiment+"="+file, childPathology+"="+pathology, childRun+"="+out)
	if said, err := child.CombinedOutput(); err != nil {
		t.Fatalf("experiment on %q: %v\n%s", pathology, err, said)
	}
	text, err := os.ReadFile(filepath.Join(out, "analysis.json"))
	if err != nil {
		t.Fatal(err)
	}
	a := new(analyzer.Analysis)
	if err := json.Unmarshal(text, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestExperimentChild is the process of runInVirtualTime.
func TestExperimentChild(t *testing.T) {
	file := os.Getenv(childExperiment)
	if file == "" {
		return
	}
	t.Chdir(t.TempDir())
	command(t, 0, "datasets", "healthy", "-o", "traces/healthy")
	p := twin.DemoParams(1)
	if name := os.Getenv(childPathology); name != "" {
		p.Pathologies = []string{name}
	}
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		server, err := sim.New(sim.Config{Params: p, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		httpServer := &http.Server{Handler: server}
		serving := make(chan error, 1)
		go func() { serving <- httpServer.Serve(network) }()
		c := &cobra.Command{}
		var said strings.Builder
		c.SetContext(t.Context())
		c.SetOut(&said)
		c.SetErr(&said)
		if err := runExperiment(c, file, &runFlags{out: os.Getenv(childRun), dial: network.Dial}); err != nil {
			t.Errorf("%v\n%s", err, said.String())
		}
		_ = httpServer.Close()
		<-serving
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
}
