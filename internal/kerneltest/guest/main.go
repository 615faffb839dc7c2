//go:build linux

// Command guest is the first and only program of a machine that kerneltest
// boots: it mounts what tests need, runs them one after the other, says how
// each ended on the second serial line, and stops the machine.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// line is where kerneltest listens.
const line = "/dev/ttyS1"

func main() {
	err := prepare()
	if err == nil {
		err = runTests()
	}
	if err == nil {
		fmt.Println("kerneltest: done")
	} else {
		fmt.Println("kerneltest: error", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

// mounts are the file systems that tests look at; those that a kernel lacks
// are left out.
var mounts = []struct{ kind, at string }{
	{"devtmpfs", "/dev"},
	{"proc", "/proc"},
	{"sysfs", "/sys"},
	{"tmpfs", "/tmp"},
	{"tmpfs", "/run"},
	{"devpts", "/dev/pts"},
	{"tmpfs", "/dev/shm"},
	{"tracefs", "/sys/kernel/tracing"},
	{"debugfs", "/sys/kernel/debug"},
	{"securityfs", "/sys/kernel/security"},
	{"cgroup2", "/sys/fs/cgroup"},
}

func prepare() error {
	var missing []error
	for _, m := range mounts {
		_ = os.MkdirAll(m.at, 0o755)
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			missing = append(missing, fmt.Errorf("mount %s: %w", m.at, err))
		}
	}
	out, err := os.OpenFile(line, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := raw(out); err != nil {
		return fmt.Errorf("set %s: %w", line, err)
	}
	os.Stdout, os.Stderr = out, out
	_ = os.Chmod("/tmp", 0o777|os.ModeSticky)
	for _, err := range missing {
		fmt.Println("kerneltest: left out:", err)
	}
	return errors.Join(sayKernel(), loadModules(), loopbackUp(), environment())
}

// loadModules loads what the image has for this kernel, in the order of names.
func loadModules() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join("/modules", unix.ByteSliceToString(name.Release[:]), "*.ko"))
	if err != nil {
		return err
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err == nil {
			err = unix.FinitModule(int(f.Fd()), "", 0)
			f.Close()
		}
		if err != nil {
			return fmt.Errorf("load module %q: %w", file, err)
		}
	}
	return nil
}

// raw lets a serial line carry bytes as they are.
func raw(f *os.File) error {
	t, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return err
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ICANON
	return unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, t)
}

func sayKernel() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	fmt.Println("kerneltest: kernel", unix.ByteSliceToString(name.Release[:]))
	return nil
}

// loopbackUp switches the only interface on.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}

func environment() error {
	os.Clearenv()
	for name, value := range map[string]string{"PATH": "/bin:/usr/bin", "HOME": "/root", "TMPDIR": "/tmp", "LC_ALL": "C.UTF-8"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// runTests runs the binaries that the image lists, each in its package's
// folder.
func runTests() error {
	b, err := os.ReadFile("/tests.json")
	if err != nil {
		return err
	}
	var tests []struct {
		Name string   `json:"name"`
		Args []string `json:"args"`
	}
	if err := json.Unmarshal(b, &tests); err != nil {
		return err
	}
	for _, t := range tests {
		cmd := exec.Command("./test", t.Args...)
		cmd.Dir = filepath.Join("/src", t.Name)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			return err
		}
		fmt.Println("kerneltest: exit", t.Name, cmd.ProcessState.ExitCode())
	}
	return nil
}
