package hostcheck

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Process is a running process that listens for TCP connections. It holds
// nothing that may be secret: no command line, no environment, no paths.
type Process struct {
	// PID is the process's number.
	PID int
	// Comm is its short name, 15 bytes at most.
	Comm string
	// Ports are the TCP ports on which it listens, ascending.
	Ports []int
	// QUIC reports whether it has the UDP port 443 or one of Ports.
	QUIC bool
	// IOUring reports whether it holds an io_uring.
	IOUring bool
	// Bits32 reports whether its program is of 32 bits.
	Bits32 bool
	// Seccomp reports whether a filter watches its system calls.
	Seccomp bool
}

// Processes are those that listen on one of the given TCP ports, or on any if
// none is given, by number. self is left out. hidden counts processes whose
// open files may not be looked at.
func Processes(root fs.FS, ports []int, self int) (list []Process, hidden int, err error) {
	entries, err := fs.ReadDir(root, "proc")
	if err != nil {
		return nil, 0, err
	}
	r := procReader{root: root, listening: make(map[string]sockets)}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == self {
			continue
		}
		p, visible := r.process(pid)
		if !visible {
			hidden++
		}
		if wanted(p.Ports, ports) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Process) int { return a.PID - b.PID })
	return list, hidden, nil
}

func wanted(has, ports []int) bool {
	if len(ports) == 0 {
		return len(has) > 0
	}
	return slices.ContainsFunc(has, func(p int) bool { return slices.Contains(ports, p) })
}

// procReader reads processes, and the sockets of each network namespace once.
type procReader struct {
	root      fs.FS
	listening map[string]sockets
}

// sockets are those of one network namespace: inode to port.
type sockets struct{ tcp, udp map[string]int }

// process reads one process; one that has ended meanwhile has no ports.
// visible is false where its open files may not be listed.
func (r *procReader) process(pid int) (p Process, visible bool) {
	dir := "proc/" + strconv.Itoa(pid)
	p = Process{PID: pid, Comm: printable(text(r.root, dir+"/comm"))}
	files, err := fs.ReadDir(r.root, dir+"/fd")
	if err != nil {
		return p, !exists(r.root, dir+"/fd")
	}
	var held []string
	for _, file := range files {
		link, err := fs.ReadLink(r.root, path.Join(dir, "fd", file.Name()))
		if err != nil {
			continue
		}
		if strings.HasPrefix(link, "anon_inode:[io_uring]") {
			p.IOUring = true
		}
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			held = append(held, strings.TrimSuffix(inode, "]"))
		}
	}
	if len(held) > 0 {
		p.take(r.socketsOf(dir), held)
	}
	p.Bits32 = len(p.Ports) > 0 && bits32(r.root, dir+"/exe")
	mode := statusField(text(r.root, dir+"/status"), "Seccomp")
	p.Seccomp = mode != "" && mode != "0"
	return p, true
}

// bits32 reports whether a file is an ELF program of class 32; one that cannot
// be read is not.
func bits32(root fs.FS, name string) bool {
	file, err := root.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	ident := make([]byte, 5)
	_, err = io.ReadFull(file, ident)
	return err == nil && string(ident) == "\x7fELF\x01"
}

// take gives the process the ports of the sockets that it holds.
func (p *Process) take(s sockets, held []string) {
	for _, inode := range held {
		if port, ok := s.tcp[inode]; ok && !slices.Contains(p.Ports, port) {
			p.Ports = append(p.Ports, port)
		}
	}
	slices.Sort(p.Ports)
	for _, inode := range held {
		port, ok := s.udp[inode]
		p.QUIC = p.QUIC || ok && (port == 443 || slices.Contains(p.Ports, port))
	}
}

// socketsOf reads the sockets of the network namespace that a process is in.
func (r *procReader) socketsOf(dir string) sockets {
	ns, err := fs.ReadLink(r.root, dir+"/ns/net")
	if err != nil {
		ns = dir
	}
	if s, known := r.listening[ns]; known {
		return s
	}
	s := sockets{make(map[string]int), make(map[string]int)}
	for _, v := range []string{"", "6"} {
		readSockets(s.tcp, text(r.root, dir+"/net/tcp"+v), "0A")
		readSockets(s.udp, text(r.root, dir+"/net/udp"+v), "07")
	}
	if exists(r.root, dir+"/net/tcp") { // else the process has ended: another of the namespace tells
		r.listening[ns] = s
	}
	return s
}

// readSockets adds those lines of a /proc/net/tcp (tcp_ipv4.c,
// get_tcp4_sock) or udp that are in a state: for TCP 0A is listening, for UDP
// 07 is not connected. Lines that do not fit the form are passed over.
func readSockets(to map[string]int, table, state string) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != state {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err == nil && port > 0 {
			to[fields[9]] = int(port)
		}
	}
}

// printable is a name without what a terminal would obey: any process may
// name itself.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}
