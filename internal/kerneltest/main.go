// Command kerneltest runs test binaries on other kernels than the running one:
// Debian's for clouds, booted under emulation with nothing but the tests in
// memory. It needs qemu and Debian's package tools, and installs nothing.
//
//	kerneltest [flags] PACKAGE[:REGEXP]…
//
// Exit code 0: all tests passed on all kernels; 1: some did not; 3: it could
// not be tried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	kernels string
	cache   string
	accel   string
	timeout time.Duration
	tools   string
	append  string
	memory  int
	verbose bool
}

func main() {
	var o options
	flag.StringVar(&o.kernels, "kernels", "6.1,6.12", "kernels, by the start of their versions")
	flag.StringVar(&o.cache, "cache", ".kernels", "folder for the kernels")
	flag.StringVar(&o.accel, "accel", "tcg", "qemu's accelerators, such as kvm:tcg")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long one kernel may take")
	flag.StringVar(&o.tools, "tools", "", "programs that the tests run, if they are here")
	flag.StringVar(&o.append, "append", "", "more of the kernel's command line")
	flag.IntVar(&o.memory, "memory", 2048, "MiB that the guest has")
	flag.BoolVar(&o.verbose, "v", false, "show all that the tests say")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, o, flag.Args())
	cancel()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "kerneltest: %v\n", err)
		os.Exit(3)
	case failed:
		os.Exit(1)
	}
}

// run boots each kernel with the tests of the packages and reports whether any
// failed.
func run(ctx context.Context, o options, packages []string) (failed bool, err error) {
	if len(packages) == 0 {
		return false, errors.New("no packages: kerneltest ./bpf")
	}
	if err := needed(); err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "kerneltest")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	var kernels []kernel
	for version := range strings.SplitSeq(o.kernels, ",") {
		k, err := fetchKernel(ctx, o.cache, version)
		if err != nil {
			return false, err
		}
		kernels = append(kernels, k)
	}
	image, err := buildImage(ctx, work, kernels, packages, strings.FieldsFunc(o.tools, func(r rune) bool { return r == ',' }), o.timeout)
	if err != nil {
		return false, err
	}
	for _, k := range kernels {
		r := boot(ctx, o, k.path, image, filepath.Join(work, "console"))
		r.print(os.Stdout, k.version)
		failed = failed || !r.passed()
	}
	return failed, nil
}

// needed names all programs that are missing, and what installs them.
func needed() error {
	var missing []string
	for _, p := range []struct{ program, debian string }{
		{"qemu-system-x86_64", "qemu-system-x86"}, {"apt-get", "apt"}, {"dpkg-deb", "dpkg"}, {"xz", "xz-utils"}, {"go", "golang"},
	} {
		if _, err := exec.LookPath(p.program); err != nil {
			missing = append(missing, p.debian)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing programs: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	return nil
}

// output runs a program and returns what it says; its error has the end of
// what it said there.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var said strings.Builder
	cmd.Dir, cmd.Stderr = dir, &said
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		text := strings.TrimSpace(said.String())
		return nil, fmt.Errorf("run %s: %w: %s", name, err, text[max(0, len(text)-2000):])
	}
	return out, nil
}
