package hostcheck

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 501 1 0000000000000000 100 0 0 10 0
   1: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 502 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F40 0100007F:B0B2 01 00000000:00000000 00:00000000 00000000     0        0 503 1 0000000000000000 20 4 30 10 -1
`

const tcp6Table = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F41 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 504 1 0000000000000000 100 0 0 10 0
`

const udpTable = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  100: 00000000:01BB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 505 2 0000000000000000 0
`

// peers are processes in two network namespaces.
func peers() fstest.MapFS {
	return fstest.MapFS{
		"proc/10/comm": file("vllm\n"), "proc/10/status": file("Seccomp:\t0\n"), "proc/10/ns/net": link("net:[1]"),
		"proc/10/net/tcp": file(tcpTable), "proc/10/net/tcp6": file(tcp6Table), "proc/10/net/udp": file(udpTable),
		"proc/10/fd/0": link("/dev/null"), "proc/10/fd/3": link("socket:[504]"), "proc/10/fd/4": link("socket:[501]"), "proc/10/fd/5": link("socket:[503]"),
		"proc/20/comm": file("ng\x1binx\n"), "proc/20/status": file("Seccomp:\t2\n"), "proc/20/ns/net": link("net:[1]"),
		"proc/20/fd/6": link("socket:[502]"), "proc/20/fd/7": link("socket:[505]"), "proc/20/fd/8": link("anon_inode:[io_uring]"),
		"proc/20/net/tcp": file(tcpTable), "proc/20/net/udp": file(udpTable),
		"proc/30/comm": file("client\n"), "proc/30/ns/net": link("net:[1]"), "proc/30/fd/3": link("socket:[503]"),
		"proc/40/comm": file("other\n"), "proc/40/ns/net": link("net:[2]"), "proc/40/fd/3": link("socket:[501]"),
		"proc/40/exe": file("\x7fELF\x01\x01"), "proc/20/exe": file("\x7fELF\x02\x01"),
		"proc/40/net/tcp": file(tcpTable[:len(tcpTable)/2]),
		"proc/1/comm":     file("ended\n"), "proc/1/ns/net": link("net:[1]"), "proc/1/fd/3": link("socket:[501]"),
		"proc/self": link("10"), "proc/uptime": file("1 1\n"),
	}
}

func TestProcesses(t *testing.T) {
	vllm := Process{PID: 10, Comm: "vllm", Ports: []int{8000, 8001}}
	nginx := Process{PID: 20, Comm: "ng?inx", Ports: []int{443}, QUIC: true, IOUring: true, Seccomp: true}
	other := Process{PID: 40, Comm: "other", Ports: []int{8000}, Bits32: true}
	rows := []struct {
		name  string
		ports []int
		self  int
		want  []Process
	}{
		{"all", nil, 0, []Process{vllm, nginx, other}},
		{"one port", []int{8000}, 0, []Process{vllm, other}},
		{"IPv6", []int{8001}, 0, []Process{vllm}},
		{"self left out", []int{8000, 443}, 10, []Process{nginx, other}},
		{"none", []int{9}, 0, nil},
	}
	for _, row := range rows {
		got, hidden, err := Processes(peers(), row.ports, row.self)
		if err != nil || hidden != 0 {
			t.Errorf("%s: %d hidden, %v", row.name, hidden, err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s:\n%s", row.name, diff)
		}
	}
}

// forbidden refuses to list the files of one process.
type forbidden struct{ fstest.MapFS }

func (f forbidden) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "proc/20/fd" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.ReadDir(name)
}

func TestHiddenProcesses(t *testing.T) {
	list, hidden, err := Processes(forbidden{peers()}, nil, 0)
	if err != nil || hidden != 1 || len(list) != 2 {
		t.Errorf("%d listed, %d hidden, %v", len(list), hidden, err)
	}
	if _, _, err := Processes(fstest.MapFS{}, nil, 0); err == nil {
		t.Error("no /proc: no error")
	}
}

// TestThisProcess: the reader fits the kernel that runs the test.
func TestThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		t.Logf("no /proc here: %v", err)
		return
	}
	l := listen(t)
	list, _, err := Processes(os.DirFS("/"), []int{l}, 0)
	if err != nil || len(list) != 1 || list[0].PID != os.Getpid() {
		t.Errorf("got %+v, %v; want process %d with port %d", list, err, os.Getpid(), l)
	}
}

// FuzzReadSockets: no table makes the reader panic or tell an impossible port.
func FuzzReadSockets(f *testing.F) {
	f.Add(tcpTable)
	f.Add(tcp6Table)
	f.Add(udpTable)
	f.Add("x: y:0 z 0A a b c d e f")
	f.Fuzz(func(t *testing.T, table string) {
		got := make(map[string]int)
		readSockets(got, table, "0A")
		for inode, port := range got {
			if port < 1 || port > 65535 || inode == "" {
				t.Errorf("%q: %d", inode, port)
			}
		}
	})
}
