package telemetry

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
)

// procFS is the host's /proc.
func procFS(cfg *Config) (procfs.FS, error) {
	proc, err := procfs.NewFS(cfg.path("proc"))
	if err != nil {
		return proc, errors.New("there is no /proc: this is not Linux, or it is not mounted")
	}
	return proc, nil
}

// reason is an error of the system as a reason of the telemetry table: without
// paths or values, the same text for the same cause.
func reason(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no " + what)
	case errors.Is(err, fs.ErrPermission):
		return errors.New(what + " may not be read by this user")
	case errors.Is(err, syscall.EOPNOTSUPP):
		return errors.New("this kernel has " + what + " switched off")
	case errors.Is(err, syscall.ENODEV):
		return errors.New(what + " is gone")
	}
	return errors.New(what + " cannot be read or understood")
}

// fields calls visit for each line "name value" of a file.
func fields(path string, visit func(name string, value float64)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	parseFields(text, visit)
	return nil
}

// parseFields leaves out lines that are not a name and a number.
func parseFields(text []byte, visit func(name string, value float64)) {
	for line := range bytes.Lines(text) {
		name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if !ok {
			continue
		}
		if v, err := strconv.ParseUint(string(value), 10, 64); err == nil {
			visit(string(name), float64(v))
		}
	}
}

// number reads a file of one number; ok is false where it is none, as for "max".
func number(path string) (v float64, ok bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false, err
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	return float64(n), err == nil, nil
}

// nothing is the close of samplers that hold nothing open.
type nothing struct{}

func (nothing) close() error { return nil }
