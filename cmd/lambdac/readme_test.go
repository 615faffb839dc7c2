package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadme runs the console blocks of README.md, one after the other in one
// folder, and compares what they print.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, folder := range []string{"recorder", "docs"} {
		if err := os.Symlink(filepath.Join(root, folder), filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	session := consoleBlocks(string(text))
	if len(session) == 0 {
		t.Fatal("README.md has no console block: nothing was tested")
	}
	for _, step := range session {
		cmd := exec.Command("sh", "-c", step.command+" 2>&1")
		cmd.Dir = dir
		// testscript.Main has put this binary on the path as lambdac.
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("$ %s: %v", step.command, err)
		}
		if diff := cmp.Diff(step.output, string(out)); diff != "" {
			t.Errorf("$ %s (-README +now):\n%s", step.command, diff)
		}
	}
}

type consoleStep struct{ command, output string }

// consoleBlocks returns the commands of all ```console blocks with what
// follows them.
func consoleBlocks(text string) (steps []consoleStep) {
	_, rest, found := strings.Cut(text, "```console\n")
	for found {
		var block string
		block, rest, _ = strings.Cut(rest, "```")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, consoleStep{command: strings.TrimSuffix(command, "\n")})
			} else if len(steps) > 0 {
				steps[len(steps)-1].output += line
			}
		}
		_, rest, found = strings.Cut(rest, "```console\n")
	}
	return steps
}
