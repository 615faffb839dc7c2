//go:build linux

package tlslib

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
)

func TestParseMaps(t *testing.T) {
	const text = `00400000-00401000 r-xp 00000000 fe:00 10 /usr/bin/fixed
55d0-55d8 r--p 00000000 fe:00 11 /usr/bin/prog
55d8-55e0 r-xp 00002000 fe:00 11 /usr/bin/prog
7f00-7f10 r-xp 00002000 fe:00 12   /usr/lib/a b.so (deleted)
7f10-7f20 r-xp 00012000 fe:00 12   /usr/lib/a b.so (deleted)
7f20-7f30 r-xp 00000000 00:00 0
7f30-7f40 r-xp 00000000 00:00 0          [vdso]
7f40-7f50 rw-p 00000000 fe:00 13 /usr/lib/data
7f50-7f60 r-xs 00000000 00:01 14 /dev/zero (deleted)
broken
x y z
`
	got, err := parseMaps(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []span{
		{mapping{"fe:00", 10, "/usr/bin/fixed"}, "400000-401000"},
		{mapping{"fe:00", 11, "/usr/bin/prog"}, "55d8-55e0"},
		{mapping{"fe:00", 12, "/usr/lib/a b.so (deleted)"}, "7f00-7f10"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(span{}, mapping{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// startReady starts a program that says a line when it is ready and ends with
// its standard input.
func startReady(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return cmd
}

const pythonReady = "import ssl, sys; print(1, flush=True); sys.stdin.read()"

func TestRunningPython(t *testing.T) {
	cmd := startReady(t, testenv.Python(t, "ssl"), "-c", pythonReady)
	s := NewScanner("/proc")
	p, err := s.Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	var plain, bio *File
	for _, f := range p.Files {
		for _, im := range f.TLS {
			for _, point := range im.Points {
				switch point.Func {
				case SSLReadEx:
					plain = f
				case BIOWrite:
					bio = f
				}
			}
		}
	}
	if plain == nil || bio == nil {
		t.Fatalf("files of a Python with ssl: %+v", p.Files)
	}
	file, err := s.Open(p.PID, plain)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	again, err := s.Process(cmd.Process.Pid)
	if err != nil || len(again.Files) != len(p.Files) || again.Files[0] != p.Files[0] {
		t.Errorf("read again: %+v, %v; want the same files", again, err)
	}
}

// A program that was replaced while it runs is still the one that runs.
func TestDeletedProgram(t *testing.T) {
	testenv.Root(t)
	path := buildGo(t, tlsProgram, "deleted", "-ldflags=-s -w")
	cmd := startReady(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s := NewScanner("/proc")
	p, err := s.Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Files) != 1 || len(p.Files[0].TLS) != 1 || p.Files[0].TLS[0].Kind != Go {
		t.Fatalf("got %+v", p.Files)
	}
}

func TestProcessesThatAreNone(t *testing.T) {
	s := NewScanner("/proc")
	if _, err := s.Process(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such process: %v", err)
	}
	pids, err := s.PIDs()
	if err != nil || len(pids) == 0 {
		t.Errorf("PIDs: %v, %v", pids, err)
	}
	if _, err := NewScanner("/nowhere").PIDs(); err == nil {
		t.Error("a /proc that is not there: no error")
	}
}

// FuzzExamine: no file may do harm, whatever is in it.
func FuzzExamine(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	f.Add(tinyELF(nil, nil))
	f.Add(tinyELF([]byte("\xf1\xff\xff\xff\x00\x00\x01\x08"+strings.Repeat("\x01\x00\x00\x00\x00\x00\x00\x00", 9)), nil))
	f.Add(tinyELF(bytes.Repeat([]byte{0xff}, 128), bytes.Repeat([]byte{1, 0, 0, 0, 0x12, 0, 1, 0}, 12)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, im := range examine("libssl.so", bytes.NewReader(b), int64(len(b))) {
			if im.Kind == "" || (im.Reason == "") == (len(im.Points) == 0) {
				t.Errorf("%+v: neither a reason nor a place, or both", im)
			}
			for _, p := range im.Points {
				if p.Entry >= uint64(len(b)) {
					t.Errorf("%+v is outside of the file", p)
				}
			}
		}
	})
}

// FuzzMaps: any text may be in a process's map.
func FuzzMaps(f *testing.F) {
	f.Add("55d8-55e0 r-xp 00002000 fe:00 11 /usr/bin/prog\n")
	f.Add("- r-x - - 1 /\n \n")
	f.Fuzz(func(t *testing.T, text string) {
		spans, _ := parseMaps(strings.NewReader(text))
		for _, sp := range spans {
			if !strings.HasPrefix(sp.path, "/") || sp.inode == 0 {
				t.Errorf("%+v", sp)
			}
		}
	})
}

// The links of a process that is gone are refused, which is no lack of rights.
func TestRefusal(t *testing.T) {
	here := t.TempDir()
	if err := os.WriteFile(filepath.Join(here, "status"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	denied := fmt.Errorf("open: %w", fs.ErrPermission)
	if err := refusal(here, denied); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a process that is there: %v", err)
	}
	if err := refusal(filepath.Join(here, "gone"), denied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is gone: %v", err)
	}
	if err := refusal(filepath.Join(here, "gone"), io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("another error: %v", err)
	}
}
