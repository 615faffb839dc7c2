package tracedir

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Environment of the child process, which is this test binary again.
const (
	childDir   = "TRACEDIR_CHILD_DIR"
	childStage = "TRACEDIR_CHILD_STAGE" // "stage n": stop for good when the stage comes the nth time
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes exchange after exchange. It says "closed N" when
// the first N are in complete parts, and "stopped" at the stage it is to stop
// at.
func writeUntilKilled(dir string) error {
	var written, taken atomic.Int64
	s := noSeams()
	s.ticks = time.Tick(5 * time.Millisecond)
	stage, n, _ := strings.Cut(os.Getenv(childStage), " ")
	left, _ := strconv.Atoi(n)
	s.at = func(at string) {
		switch at {
		case "taken":
			taken.Store(written.Load())
		case "closed":
			fmt.Println("closed", taken.Load())
		}
		if at == stage {
			if left--; left == 0 {
				fmt.Println("stopped")
				select {}
			}
		}
	}
	w, err := create(dir, sealed(), Options{Live: true}, s)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(7, 1))
	for i := 0; ; i++ {
		r := &trace.Record{Features: new(trace.Features), Bodies: []trace.Body{{Side: trace.SideRequest}}}
		r.RequestID, r.StartUnixNs = strconv.Itoa(i), rng.Int64()
		if err := w.Write(r); err != nil {
			return err
		}
		written.Add(1)
		time.Sleep(50 * time.Microsecond)
	}
}

// TestKilled kills the child at seeded moments, and between the rename of a
// folded part and the removal of its sources.
func TestKilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	stages := []string{"folded 1", "folded 3", "removed 1", "removed 12", "closed 1"}
	for range 6 {
		stages = append(stages, "")
	}
	for i, stage := range stages {
		delay := time.Duration(20+rng.IntN(300)) * time.Millisecond
		t.Run(fmt.Sprintf("%d %s", i, stage), func(t *testing.T) {
			dir := t.TempDir()
			closed := killedChild(t, dir, stage, delay)
			checkSurvivors(t, dir, closed, stage)
		})
	}
}

// killedChild runs the child, kills it after the delay or at the stage, and
// returns how many exchanges it had said to be safe.
func killedChild(t *testing.T, dir, stage string, delay time.Duration) (closed int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir, childStage+"="+stage)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = child.Process.Kill() }
	patience := time.AfterFunc(time.Minute, kill)
	defer patience.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "error":
			t.Errorf("child: %s", rest)
		case "stopped":
			kill()
		case "closed":
			before := closed
			closed, _ = strconv.Atoi(rest)
			if before == 0 && closed > 0 && stage == "" {
				time.AfterFunc(delay, kill) // the delay counts from when it is at work
			}
		}
	}
	if err := child.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("child: %v, want it killed", err)
	}
	return closed
}

func checkSurvivors(t *testing.T, dir string, closed int, stage string) {
	t.Helper()
	d := open(t, dir)
	for _, warning := range d.Warnings() {
		if !strings.Contains(warning, "unfinished") {
			t.Errorf("after the kill: %s", warning)
		}
	}
	seen := make(map[string]int)
	for _, r := range collect[trace.Record](t, d) {
		seen[r.RequestID]++
	}
	for i := range closed {
		if seen[strconv.Itoa(i)] == 0 {
			t.Errorf("exchange %d of %d closed ones is lost", i, closed)
		}
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("exchange %s is there %d times", id, n)
		}
	}
	features := make(map[string]int)
	for _, f := range collect[trace.Features](t, d) {
		features[f.RequestID]++
	}
	for id := range seen {
		if features[id] != 1 {
			t.Errorf("exchange %s has %d rows of features", id, features[id])
		}
	}
	if closed == 0 && stage != "closed 1" {
		t.Error("nothing was closed before the kill: the test proves nothing")
	}
	t.Logf("%d closed, %d found, %d parts, warnings %q", closed, len(seen), len(d.parts[tableRequests]), d.Warnings())
}
