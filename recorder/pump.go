package recorder

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// pump reads from what may wait for ever, a pipe or a terminal, in a goroutine
// of its own, so that Close ends a waiting Read. That goroutine ends with the
// stream's end or, once closed, with the next bytes that come: a blocked read
// of the standard input cannot be called off.
type pump struct{ *io.PipeReader }

// pumpBuffer is the most that is read at a time; pipes hold 64 KiB.
const pumpBuffer = 64 << 10

func startPump(r io.Reader) pump {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{pw}, struct{ io.Reader }{r}, make([]byte, pumpBuffer))
		_ = pw.CloseWithError(err) // never fails
	}()
	return pump{pr}
}

// waits reports whether reading a file may wait for someone to write.
func waits(f *os.File) bool {
	info, err := f.Stat()
	return err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0
}

// openInput opens a capture by its path; "-" is the standard input.
func openInput(path string) (r io.ReadCloser, name string, err error) {
	if path == "-" {
		if waits(os.Stdin) {
			return startPump(os.Stdin), "standard input", nil
		}
		return io.NopCloser(os.Stdin), "standard input", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, path, err
	}
	if !waits(f) {
		return f, path, nil
	}
	return pumpedFile{startPump(f), f}, path, nil
}

// pumpedFile closes the file behind a pump as well.
type pumpedFile struct {
	pump
	file *os.File
}

// Close implements [io.Closer].
func (p pumpedFile) Close() error { return errors.Join(p.pump.Close(), p.file.Close()) }
