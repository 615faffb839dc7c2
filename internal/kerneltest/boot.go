package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// result is what came of one kernel.
type result struct {
	// kernel is what the guest says that it runs on.
	kernel string
	// pass, fail and skip are the names of tests, those of tests within tests
	// left out.
	pass, fail, skip []string
	// done reports whether all binaries were run.
	done bool
	// bad reports whether a binary ended with another exit code than 0.
	bad bool
	// said is all that the guest said.
	said []string
	// trouble is why the guest did not come to its end.
	trouble string
	took    time.Duration
}

// passed: every binary ran, and some test in them did.
func (r *result) passed() bool {
	return r.done && !r.bad && len(r.fail) == 0 && len(r.pass) > 0
}

// boot runs a kernel with an image until it is through or out of time. What
// the kernel itself says goes to the file console.
func boot(ctx context.Context, o options, kernel, image, console string) (r result) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	start := time.Now()
	args := append(accelerators(o.accel), "-machine", "pc", "-cpu", "max", "-smp", "2", "-m", strconv.Itoa(o.memory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none",
		"-kernel", kernel, "-initrd", image,
		"-append", strings.TrimSpace("console=ttyS0 panic=-1 oops=panic random.trust_cpu=on "+o.append),
		"-serial", "file:"+console, "-serial", "stdio")
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.trouble = fmt.Sprintf("start qemu: %v", err)
		return r
	}
	var show io.Writer = io.Discard
	if o.verbose {
		show = os.Stdout
	}
	r.read(io.TeeReader(out, show))
	err = cmd.Wait()
	r.took = time.Since(start)
	switch {
	case ctx.Err() != nil:
		r.trouble = fmt.Sprintf("stopped after %s", r.took.Round(time.Second))
	case err != nil:
		r.trouble = fmt.Sprintf("qemu: %v", err)
	case !r.done:
		r.trouble = "the kernel ended before the tests; it last said:\n" + tail(console, 60)
	}
	return r
}

// accelerators are qemu's flags for a list such as kvm:tcg. Emulated processors
// share a thread: with one each, a breakpoint by which the kernel changes its own
// code, as it does to attach a program, may be hit once it is gone, which ends
// the kernel ("int3" at a tracepoint).
func accelerators(list string) (flags []string) {
	for name := range strings.SplitSeq(list, ":") {
		if name == "tcg" {
			name += ",thread=single"
		}
		flags = append(flags, "-accel", name)
	}
	return flags
}

// verdict is a line of a test's end; what is within a test is indented.
var verdict = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+)`)

// read takes in what the guest says, to its end.
func (r *result) read(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if line != "" {
			r.said = append(r.said, line)
			r.line(line)
		}
		if err != nil {
			return
		}
	}
}

func (r *result) line(line string) {
	if m := verdict.FindStringSubmatch(line); m != nil {
		list := map[string]*[]string{"PASS": &r.pass, "FAIL": &r.fail, "SKIP": &r.skip}[m[1]]
		*list = append(*list, m[2])
	}
	word, rest, _ := strings.Cut(line, " ")
	if word != "kerneltest:" {
		return
	}
	switch kind, value, _ := strings.Cut(rest, " "); kind {
	case "kernel":
		r.kernel = value
	case "exit":
		r.bad = r.bad || !strings.HasSuffix(value, " 0")
	case "done":
		r.done = true
	}
}

// print writes what came of it, and all that the guest said where it is bad.
func (r *result) print(w io.Writer, version string) {
	if !r.passed() {
		for _, line := range r.said {
			fmt.Fprintln(w, line)
		}
	}
	state := "ok"
	if !r.passed() {
		state = "FAIL"
	}
	fmt.Fprintf(w, "%s\tkernel %s (%s)\t%d passed, %d failed, %d skipped\t%.1fs\n",
		state, version, r.kernel, len(r.pass), len(r.fail), len(r.skip), r.took.Seconds())
	for _, list := range []struct {
		what  string
		names []string
	}{{"failed", r.fail}, {"skipped", r.skip}} {
		if len(list.names) > 0 {
			fmt.Fprintf(w, "\t%s: %s\n", list.what, strings.Join(list.names, ", "))
		}
	}
	if r.trouble != "" {
		fmt.Fprintf(w, "\t%s\n", r.trouble)
	}
}

// tail is the end of a file of text.
func tail(file string, lines int) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
