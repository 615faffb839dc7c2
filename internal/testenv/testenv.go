// Package testenv is the one way to skip a test: it names what the machine
// lacks, and with CI=true it fails instead, so that nothing this machine can
// run is skipped in silence.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// SamplesVar names the environment variable that holds the folder of sample
// captures and public traces which are not part of the repository.
const SamplesVar = "LAMBDAC_SAMPLES"

// Samples returns the folder of outside samples. The test is skipped where
// the variable is unset, since the samples are no part of the project; a
// variable that names no folder fails the test.
func Samples(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv(SamplesVar)
	if dir == "" {
		skip(tb, "outside samples: set "+SamplesVar)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		tb.Fatalf("%s=%q is not a readable folder: %v", SamplesVar, dir, err)
	}
	return dir
}

// Missing skips the test because of what the machine lacks, and fails it with
// CI=true. remedy says how to get it.
func Missing(tb testing.TB, what, remedy string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("missing: %s; with CI=true nothing may be skipped: %s", what, remedy)
	}
	skip(tb, "missing "+what+": "+remedy)
}

// skipsVar names the environment variable with the file that lists what was
// skipped, for `make test` to print: go test names no skip of a passing
// package.
const skipsVar = "LAMBDAC_SKIPS"

func skip(tb testing.TB, why string) {
	tb.Helper()
	why, _, _ = strings.Cut(why, "\n")
	if path := os.Getenv(skipsVar); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			tb.Fatalf("list skipped test: %v", err)
		}
		_, err = fmt.Fprintf(f, "%s: %s\n", tb.Name(), why)
		if err = errors.Join(err, f.Close()); err != nil {
			tb.Fatalf("list skipped test: %v", err)
		}
	}
	tb.Skip("skipped: " + why)
}

// Root returns if the test runs as root.
func Root(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		Missing(tb, "root", "run the test as root")
	}
}

// Command returns the path of a program.
func Command(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(tb, "the program "+name, "install it")
	}
	return path
}

// Python returns an interpreter that can import the given modules: that of
// LAMBDAC_PYTHON, else python3.
func Python(tb testing.TB, modules ...string) string {
	tb.Helper()
	python := os.Getenv("LAMBDAC_PYTHON")
	if python == "" {
		python = Command(tb, "python3")
	}
	for _, module := range modules {
		if out, err := exec.Command(python, "-c", "import "+module).CombinedOutput(); err != nil {
			Missing(tb, "the Python module "+module, "make python-env, then set LAMBDAC_PYTHON: "+string(out))
		}
	}
	return python
}

// NodeVar names the environment variable that holds the folder whose
// node_modules has the pinned packages of package.json beside this file.
const NodeVar = "LAMBDAC_NODE"

// Node returns Node.js and the folder from which it finds the given packages:
// that of LAMBDAC_NODE.
func Node(tb testing.TB, packages ...string) (node, folder string) {
	tb.Helper()
	node, folder = Command(tb, "node"), os.Getenv(NodeVar)
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(folder, "node_modules", name)); folder == "" || err != nil {
			Missing(tb, "the Node package "+name, "make node-env, then set "+NodeVar)
		}
	}
	return node, folder
}

// Long skips a test with -short, which is for a second pass under the race
// detector: the first pass has run it.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		skip(tb, "long, and -short is set")
	}
}

// Calibrating reports whether the tests are run by `make calibrate`, in their
// long form.
func Calibrating() bool { return os.Getenv("LAMBDAC_CALIBRATE") == "1" }

// Calibration skips a test that is only run by `make calibrate`: the long form
// of another that always runs, so with CI=true it is skipped too.
func Calibration(tb testing.TB) {
	tb.Helper()
	if !Calibrating() {
		skip(tb, "long; run by make calibrate")
	}
}

// Kernel skips a test because of what the running kernel was built without: no
// package brings that, so with CI=true it is skipped too, by name.
func Kernel(tb testing.TB, lacks string) {
	tb.Helper()
	skip(tb, "the kernel has no "+lacks)
}

// guestFile is the list that kerneltest's init reads.
const guestFile = "/tests.json"

func inGuest() bool {
	_, err := os.Stat(guestFile)
	return err == nil
}

// Patience is how long a test waits for what is bound to happen before it
// fails: longer than any machine takes, and longer on an emulated one.
func Patience() time.Duration {
	if inGuest() {
		return 6 * time.Minute
	}
	return 2 * time.Minute
}

// Guest skips a test that is only run by `make test-kernel`, on a machine that it
// may ruin: there is nothing of the kind anywhere else, with CI=true neither.
func Guest(tb testing.TB) {
	tb.Helper()
	if !inGuest() {
		skip(tb, "it ruins the machine; run by make test-kernel")
	}
}
