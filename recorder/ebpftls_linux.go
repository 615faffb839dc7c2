//go:build amd64 || arm64

package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/tlslib"
)

const (
	// maxWaiting bounds the processes that wait to be looked at: what is left
	// out is told again.
	maxWaiting = 1024
	// maxProcesses bounds those whose libraries are remembered.
	maxProcesses = 8192
	// sweepEvery is how often files that nobody uses any more are looked for,
	// if a process has ended. They keep their probes for keepUnused: the next
	// process may come soon and be brief.
	sweepEvery = 5 * time.Second
	keepUnused = 30 * time.Second
)

// tlsFollower puts probes on the TLS libraries of processes: those that run
// when it starts, and files as processes begin to run code of them. A file has
// its probes once, whoever uses it, and loses them when nobody does.
type tlsFollower struct {
	probes  *bpf.Probes
	scanner *tlslib.Scanner
	// careful: the kernel's return probes kill processes that restrict their
	// system calls.
	careful bool
	keep    time.Duration
	waiting chan newCode
	stop    chan struct{}
	done    chan struct{}

	mu sync.Mutex
	// files are those with probes, or those that refused them.
	files     map[tlslib.FileID]*probedFile
	processes map[int]*tlsProcess
	// since is when the last file had its probes.
	since time.Time
	exits int
	// unused is the number of files without a process that still have probes.
	unused   int
	troubles []string
	// denied are processes that it was not allowed to look at.
	denied map[int]bool
}

// newCode is a file that a process begins to run code of.
type newCode struct {
	pid  int
	file bpf.FileKey
}

// probedFile is a file with TLS in it.
type probedFile struct {
	path    string
	links   []*bpf.Attachment
	refused []string
	// since is when it had all its probes, used when a process last had it.
	since, used time.Time
}

// tlsProcess is what was found in a process.
type tlsProcess struct {
	name string
	// covered: it has a library with probes. why are the reasons for which
	// others have none.
	covered bool
	why     []string
	// since is when all its libraries had their probes.
	since time.Time
}

// followTLS puts probes on what runs now, and goes on doing so until it is
// closed.
func followTLS(k *bpf.Kernel, o bpf.Options) (*tlsFollower, error) {
	f, err := newTLSFollower(k, o)
	if err != nil {
		return nil, err
	}
	if err := f.start(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func newTLSFollower(k *bpf.Kernel, o bpf.Options) (*tlsFollower, error) {
	probes, err := k.LoadProbes(o)
	if err != nil {
		return nil, err
	}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return nil, errors.Join(fmt.Errorf("read kernel version: %w", err), probes.Close())
	}
	return &tlsFollower{
		probes: probes, scanner: tlslib.NewScanner("/proc"),
		careful: runtime.GOARCH == "amd64" && returnProbesHarm(unix.ByteSliceToString(uts.Release[:])),
		keep:    keepUnused, waiting: make(chan newCode, maxWaiting), stop: make(chan struct{}), done: make(chan struct{}),
		files: make(map[tlslib.FileID]*probedFile), processes: make(map[int]*tlsProcess), denied: make(map[int]bool),
	}, nil
}

func (f *tlsFollower) start() error {
	pids, err := f.scanner.PIDs()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if pid != os.Getpid() {
			f.look(pid)
		}
	}
	go f.run()
	return nil
}

// returnProbesHarm reports whether a kernel's return probes use a system call
// that filters of system calls do not let pass: Linux 6.11 to 6.13.
func returnProbesHarm(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major == 6 && minor >= 11 && minor <= 13
}

// saw takes an event: a file that is new to a process, a process that was seen
// to speak TLS, or its end.
func (f *tlsFollower) saw(e *bpf.Control) {
	switch e.Kind {
	case bpf.Code:
		select {
		case f.waiting <- newCode{int(e.TGID), e.CodeFile()}:
		default: // told again with the next process that uses it
		}
	case bpf.TLS:
		f.mu.Lock()
		known := f.processes[int(e.TGID)] != nil
		f.mu.Unlock()
		if known {
			return
		}
		select { // a process all of whose files were known before
		case f.waiting <- newCode{pid: int(e.TGID)}:
		default:
		}
	case bpf.Exit:
		f.mu.Lock()
		f.exits++
		f.mu.Unlock()
	}
}

// run looks at processes as they are told of, until close.
func (f *tlsFollower) run() {
	defer close(f.done)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-f.stop:
			return
		case code := <-f.waiting:
			if !f.look(code.pid) || code.file == (bpf.FileKey{}) {
				continue
			}
			if err := f.probes.Known(code.file); err != nil {
				f.trouble(err.Error())
			}
		case <-sweep.C:
			f.sweep()
		}
	}
}

// look reads one process and puts probes on what is new in it; false where it
// had ended or may not be looked at, so that nothing is known of its files.
func (f *tlsFollower) look(pid int) bool {
	p, err := f.scanner.Process(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		return false
	case errors.Is(err, fs.ErrPermission):
		f.mu.Lock()
		if len(f.denied) < maxProcesses {
			f.denied[pid] = true
		}
		f.mu.Unlock()
		return false
	case err != nil:
		f.trouble(err.Error())
		return true
	}
	found := &tlsProcess{name: p.Name}
	for _, file := range p.Files {
		probed := f.probe(p, file)
		found.covered = found.covered || len(probed.links) > 0
		if probed.since.After(found.since) {
			found.since = probed.since
		}
		for _, why := range probed.refused {
			if !slices.Contains(found.why, why) {
				found.why = append(found.why, why)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.processes) < maxProcesses && (found.covered || len(found.why) > 0) {
		f.processes[pid] = found
	}
	return true
}

// probe puts probes on a file, unless it was looked at before.
func (f *tlsFollower) probe(p *tlslib.Process, file *tlslib.File) *probedFile {
	f.mu.Lock()
	probed := f.files[file.ID]
	f.mu.Unlock()
	if probed != nil {
		return probed
	}
	probed = &probedFile{path: file.Path}
	for i := range file.TLS {
		im := &file.TLS[i]
		why := im.Reason
		if why == "" {
			why = f.attach(probed, p, file, im)
		}
		if why != "" {
			probed.refused = append(probed.refused, fmt.Sprintf("%s: %s", im.Kind, why))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	probed.since = time.Now()
	probed.used, f.since = probed.since, probed.since
	f.files[file.ID] = probed
	return probed
}

// attach puts probes on one implementation; the answer is why not.
func (f *tlsFollower) attach(to *probedFile, p *tlslib.Process, file *tlslib.File, im *tlslib.Implementation) string {
	opened, err := f.scanner.Open(p.PID, file)
	if err != nil {
		return "its file cannot be opened"
	}
	defer func() { _ = opened.Close() }() // it was only read
	var points []bpf.Probe
	for _, at := range im.Points {
		points = append(points, bpf.Probe{Func: uint8(at.Func), Entry: at.Entry, Returns: at.Returns})
	}
	var a *bpf.Attachment
	switch {
	case im.Kind == tlslib.Go:
		a, err = f.probes.AttachGo(opened, points)
	default:
		a, err = f.probes.AttachC(opened, points, f.careful || p.Filtered)
		if errors.Is(err, bpf.ErrNoReturns) && !f.careful {
			a, err = f.probes.AttachC(opened, points, false)
		}
	}
	switch {
	case errors.Is(err, bpf.ErrNoReturns):
		return err.Error()
	case errors.Is(err, fs.ErrPermission) && !f.probes.Multi():
		return "probes need CAP_SYS_ADMIN on kernels before 6.6"
	case err != nil:
		f.trouble(err.Error())
		return "the kernel refuses probes on it"
	}
	to.links = append(to.links, a)
	return ""
}

// sweep takes the probes from files that no process uses.
func (f *tlsFollower) sweep() {
	f.mu.Lock()
	idle := f.exits == 0 && f.unused == 0
	f.exits = 0
	f.mu.Unlock()
	if idle {
		return
	}
	// First, so that whoever begins to use a file from here on is told of, and
	// all before are among the processes.
	err := f.probes.ForgetFiles()
	pids, listErr := f.scanner.PIDs()
	if err := cmp.Or(err, listErr); err != nil {
		f.trouble(err.Error())
		return
	}
	used, alive := make(map[tlslib.FileID]bool), make(map[int]bool)
	for _, pid := range pids {
		p, err := f.scanner.Process(pid)
		if err != nil {
			continue // it ended
		}
		alive[pid] = true
		for _, file := range p.Files {
			used[file.ID] = true
		}
	}
	f.forget(used, alive)
}

func (f *tlsFollower) forget(used map[tlslib.FileID]bool, alive map[int]bool) {
	f.mu.Lock()
	var gone []*probedFile
	now := time.Now()
	f.unused = 0
	for id, file := range f.files {
		switch {
		case used[id]:
			file.used = now
		case now.Sub(file.used) < f.keep:
			f.unused++
		default:
			gone = append(gone, file)
			delete(f.files, id)
		}
	}
	for pid := range f.processes {
		if !alive[pid] { // its connections ended with it, seconds ago
			delete(f.processes, pid)
		}
	}
	f.mu.Unlock()
	if len(gone) == 0 {
		return
	}
	f.scanner.Forget(func(file *tlslib.File) bool { return len(file.TLS) == 0 || f.files[file.ID] != nil })
	for _, file := range gone {
		f.release(file)
	}
}

func (f *tlsFollower) release(file *probedFile) {
	for _, a := range file.links {
		if err := a.Close(); err != nil {
			f.trouble(err.Error())
		}
	}
}

// trouble keeps what to tell the user; a few are as good as many.
func (f *tlsFollower) trouble(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.troubles) < 8 && !slices.Contains(f.troubles, text) {
		f.troubles = append(f.troubles, text)
	}
}

// warnings are the troubles so far.
func (f *tlsFollower) warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.troubles)
	if n := len(f.denied); n > 0 {
		list = append(list, fmt.Sprintf("%d processes could not be looked at, and their TLS is not read: CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE allow it", n))
	}
	return list
}

// covers implements [tlsSide]. A process that is not known is another's child
// and has its libraries.
func (f *tlsFollower) covers(tgid uint32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.processes[int(tgid)]; p != nil {
		return p.since.UnixNano()
	}
	return f.since.UnixNano()
}

// why says for which reason a process's TLS is not read.
func (f *tlsFollower) why(tgid uint32) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.processes[int(tgid)]
	switch {
	case p == nil:
		return "no TLS library was found in the process"
	case p.covered:
		return cmp.Or(strings.Join(p.why, "; "), "the connection's library object was not seen")
	}
	return strings.Join(p.why, "; ")
}

// length implements [tlsSide].
func (f *tlsFollower) length(key streamKey) (l bpf.Length, ok bool) {
	return f.probes.Length(key.tgid, key.ssl, key.generation)
}

// detach takes all probes away.
func (f *tlsFollower) detach() error {
	close(f.stop)
	<-f.done
	for _, file := range f.files {
		f.release(file)
	}
	clear(f.files)
	return nil
}

// close unloads the programs.
func (f *tlsFollower) close() error { return f.probes.Close() }
