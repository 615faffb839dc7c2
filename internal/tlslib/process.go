//go:build linux

package tlslib

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a running program and the files with TLS in them that it maps.
type Process struct {
	PID int
	// Name is the command name, at most 15 bytes.
	Name string
	// Filtered: a seccomp filter restricts its system calls.
	Filtered bool
	// Files are those with at least one implementation.
	Files []*File
}

// Scanner reads processes. It remembers the files it has read, so that the
// next process that maps them costs little. It is for one goroutine.
type Scanner struct {
	proc  string
	files map[mapping]*File
}

// NewScanner returns a scanner of the processes below proc, "/proc" as a rule.
func NewScanner(proc string) *Scanner {
	return &Scanner{proc: proc, files: make(map[mapping]*File)}
}

// maxRemembered bounds the files remembered; more are read again.
const maxRemembered = 1 << 16

// mapping is a mapped file as /proc/PID/maps names it.
type mapping struct {
	dev   string
	inode uint64
	path  string
}

// span is the first range of addresses at which a file is mapped.
type span struct {
	mapping
	addrs string
}

// maxMaps bounds the size of one process's map that is read.
const maxMaps = 16 << 20

// PIDs lists the processes there are.
func (s *Scanner) PIDs() ([]int, error) {
	dir, err := os.Open(s.proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Process reads one process. The error matches fs.ErrNotExist where it has
// ended, and fs.ErrPermission where it may not be looked at. A process of the
// kernel maps no files.
func (s *Scanner) Process(pid int) (*Process, error) {
	dir := filepath.Join(s.proc, strconv.Itoa(pid))
	spans, err := readMaps(filepath.Join(dir, "maps"))
	if err != nil {
		return nil, fmt.Errorf("read process %d: %w", pid, refusal(dir, err))
	}
	p := &Process{PID: pid}
	p.Name, p.Filtered = readStatus(filepath.Join(dir, "status"))
	for i := range spans {
		f, err := s.file(dir, &spans[i])
		if err != nil {
			return nil, fmt.Errorf("read process %d: %w", pid, refusal(dir, err))
		}
		if f != nil && len(f.TLS) > 0 {
			p.Files = append(p.Files, f)
		}
	}
	return p, nil
}

// refusal tells a process that ended from one that may not be looked at: the
// kernel refuses the links of a process that is gone as if they were forbidden
// (proc_fd_access_allowed in fs/proc/base.c finds no task).
func refusal(dir string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if _, gone := os.Stat(filepath.Join(dir, "status")); errors.Is(gone, fs.ErrNotExist) {
		return gone
	}
	return err
}

// Forget drops what is remembered of files that keep does not want any more.
func (s *Scanner) Forget(keep func(*File) bool) {
	for m, f := range s.files {
		if !keep(f) {
			delete(s.files, m)
		}
	}
}

// Open opens a file of a process for reading, as the process sees it.
func (s *Scanner) Open(pid int, f *File) (*os.File, error) {
	dir := filepath.Join(s.proc, strconv.Itoa(pid))
	spans, err := readMaps(filepath.Join(dir, "maps"))
	if err != nil {
		return nil, fmt.Errorf("open %q of process %d: %w", f.Path, pid, err)
	}
	for i := range spans {
		if spans[i].path != f.Path {
			continue
		}
		file, err := openMapped(dir, &spans[i])
		if err != nil {
			return nil, fmt.Errorf("open %q of process %d: %w", f.Path, pid, err)
		}
		if id, _, err := identify(file); err == nil && id == f.ID {
			return file, nil
		}
		_ = file.Close() // it was only read
	}
	return nil, fmt.Errorf("open %q of process %d: %w", f.Path, pid, fs.ErrNotExist)
}

// file examines a mapped file, once.
func (s *Scanner) file(dir string, sp *span) (*File, error) {
	if f, ok := s.files[sp.mapping]; ok {
		return f, nil
	}
	file, err := openMapped(dir, sp)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, err
	case err != nil && mayHold(sp.path):
		return &File{Path: sp.path, TLS: refused(true, errors.New("the file was deleted or replaced while it is in use"))}, nil
	case err != nil:
		return nil, nil
	}
	f := &File{Path: sp.path}
	id, size, err := identify(file)
	if err == nil {
		f.ID = id
		f.TLS = examine(sp.path, file, size)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("read %q: %w", sp.path, err)
	}
	if len(s.files) < maxRemembered {
		s.files[sp.mapping] = f
	}
	return f, nil
}

// identify returns a regular file's identity and size.
func identify(file *os.File) (FileID, int64, error) {
	info, err := file.Stat()
	if err != nil {
		return FileID{}, 0, fmt.Errorf("read file: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return FileID{}, 0, errors.New("not a regular file")
	}
	return FileID{st.Dev, st.Ino}, info.Size(), nil
}

// openMapped opens a mapped file: by its name below the root of the process, or
// below our own, which is how the map names files of a process that changed
// its root only. Where another file has the name by now, or none, the mapping
// itself is opened, which takes more rights. File systems in layers may show
// two numbers for one file: then the one at the path is the better choice to
// none.
func openMapped(dir string, sp *span) (*os.File, error) {
	var other *os.File
	if name, deleted := strings.CutSuffix(sp.path, " (deleted)"); !deleted {
		for _, root := range []string{filepath.Join(dir, "root"), "/"} {
			file, err := openRegular(filepath.Join(root, name))
			if err != nil {
				continue
			}
			if id, _, err := identify(file); err == nil && id.Inode == sp.inode {
				return file, closeFile(other)
			}
			if other == nil && root != "/" {
				other = file
				continue
			}
			if err := closeFile(file); err != nil {
				return nil, err
			}
		}
	}
	file, err := openRegular(filepath.Join(dir, "map_files", sp.addrs))
	switch {
	case err == nil:
		return file, closeFile(other)
	case other != nil:
		return other, nil
	}
	return nil, fmt.Errorf("open %q: %w", sp.path, err)
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// openRegular opens a regular file for reading. It looks before it opens: what
// lies at a path of another's root may be a device or a pipe.
func openRegular(path string) (*os.File, error) {
	look, err := os.OpenFile(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = look.Close() }() // nothing was written
	if _, _, err := identify(look); err != nil {
		return nil, err
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", look.Fd()))
}

// readMaps lists the files that a process may run code of, each once.
func readMaps(path string) ([]span, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	spans, err := parseMaps(file)
	return spans, errors.Join(err, file.Close())
}

// parseMaps reads the format of proc_pid_maps(5).
func parseMaps(r io.Reader) ([]span, error) {
	var spans []span
	seen := make(map[mapping]bool)
	lines := bufio.NewScanner(io.LimitReader(r, maxMaps))
	for lines.Scan() {
		sp, ok := parseMapLine(lines.Text())
		if ok && !seen[sp.mapping] {
			seen[sp.mapping] = true
			spans = append(spans, sp)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read maps: %w", err)
	}
	return spans, nil
}

// parseMapLine reads a line such as
//
//	7f0-7f8 r-xp 00002000 08:01 1234   /usr/lib/libssl.so.3
//
// and reports whether it is code of a file.
func parseMapLine(line string) (span, bool) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 6 || len(fields[1]) < 3 || fields[1][2] != 'x' {
		return span{}, false
	}
	inode, err := strconv.ParseUint(fields[4], 10, 64)
	path := unescape(strings.TrimLeft(fields[5], " "))
	if err != nil || inode == 0 || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/dev/") {
		return span{}, false
	}
	return span{mapping{fields[3], inode, path}, linkName(fields[0])}, true
}

// linkName is the name in map_files of a range of addresses: without the zeros
// to which the map pads them.
func linkName(addrs string) string {
	from, to, _ := strings.Cut(addrs, "-")
	return strings.TrimLeft(from, "0") + "-" + strings.TrimLeft(to, "0")
}

// unescape undoes what the kernel does to line ends in names.
func unescape(path string) string { return strings.ReplaceAll(path, `\012`, "\n") }

// readStatus reads the name and whether a seccomp filter is on; what cannot be
// read is empty.
func readStatus(path string) (name string, filtered bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Name":
			name = value
		case "Seccomp":
			filtered = value == "2"
		}
	}
	return name, filtered
}
