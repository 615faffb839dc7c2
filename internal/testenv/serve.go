package testenv

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
)

// Serve starts a program that prints a line when it serves, its address, and
// ends when its input does, which is with the test. It returns the line.
func Serve(tb testing.TB, cmd *exec.Cmd) (address string) {
	tb.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatalf("start %s: %v", cmd.Path, err)
	}
	return strings.TrimSpace(line)
}
