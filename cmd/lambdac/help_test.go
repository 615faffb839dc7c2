package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestExamples: the help of every command has an example, and the command line
// of each is one that the program takes: known command, known flags, as many
// arguments as it wants.
func TestExamples(t *testing.T) {
	for _, c := range append(newRoot().Commands(), newRoot()) {
		lines := exampleLines(c.Example)
		if len(lines) == 0 && c.Name() != "help" && c.Name() != "completion" {
			t.Errorf("%s --help has no example", c.CommandPath())
		}
		for _, line := range lines {
			checkExample(t, line)
		}
	}
}

// exampleLines are the command lines of this program in an example.
func exampleLines(example string) (lines []string) {
	for line := range strings.Lines(example) {
		if _, after, piped := strings.Cut(line, "| lambdac "); piped {
			line = "lambdac " + after
		}
		line, _, _ = strings.Cut(line, " | ")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func checkExample(t *testing.T, line string) {
	t.Helper()
	words := shellWords(line)
	if words[0] != "lambdac" {
		t.Errorf("example %q is not of this program", line)
		return
	}
	root := newRoot()
	c, args, err := root.Find(words[1:])
	if err != nil || c == root {
		t.Errorf("example %q: no such command (%v)", line, err)
		return
	}
	if err := c.ParseFlags(args); err != nil {
		t.Errorf("example %q: %v", line, err)
		return
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
}

// shellWords splits at blanks outside of single quotes.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// TestCompletion: the scripts that shells read are made, and know the
// commands.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out bytes.Buffer
		if code := run([]string{"completion", shell}, strings.NewReader(""), &out, io.Discard); code != exitOK || out.Len() < 1000 {
			t.Errorf("%s: exit %d, %d bytes", shell, code, out.Len())
		}
	}
	var out bytes.Buffer
	run([]string{cobra.ShellCompNoDescRequestCmd, "re"}, strings.NewReader(""), &out, io.Discard)
	if got := out.String(); !strings.HasPrefix(got, "record\nreplay\n") {
		t.Errorf("completions of \"re\": %q", got)
	}
}
