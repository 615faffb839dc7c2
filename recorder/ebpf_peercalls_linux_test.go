//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// peerCalls answers each request by the system call in its query, after
// reading its body by that in the header Read.
func peerCalls(c *net.TCPConn, _ *bufio.Reader) {
	raw, err := c.File() // a duplicate, blocking
	if err != nil {
		panic(err)
	}
	defer raw.Close()
	fd := int(raw.Fd())
	for {
		head := readHead(fd)
		if head == "" {
			return
		}
		call, _, _ := strings.Cut(strings.SplitN(head, "?", 2)[1], " ")
		body := make([]byte, contentLength(head))
		name, arg, _ := strings.Cut(call, "=")
		reads[name](fd, body)
		writes[name](fd, arg, body)
	}
}

// readHead reads bytes up to a blank line, one by one; "" at the end.
func readHead(fd int) string {
	var head []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		n, err := unix.Read(fd, one)
		if n <= 0 || err != nil {
			return ""
		}
		head = append(head, one...)
	}
	return string(head)
}

func contentLength(head string) (n int) {
	_, rest, ok := strings.Cut(head, "Content-Length: ")
	if ok {
		fmt.Sscanf(rest, "%d", &n)
	}
	return n
}

func readFull(fd int, b []byte) {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		if err != nil || n == 0 {
			panic(fmt.Sprint("read: ", n, err))
		}
		b = b[n:]
	}
}

// reads fill a body.
var reads = map[string]func(fd int, b []byte){
	"read": readFull,
	"readv": func(fd int, b []byte) {
		for len(b) > 0 {
			half := (len(b) + 1) / 2
			n, err := unix.Readv(fd, [][]byte{b[:half], b[half:]})
			if err != nil || n == 0 {
				panic(err)
			}
			b = b[n:]
		}
	},
	"recvfrom": func(fd int, b []byte) {
		for len(b) > 0 {
			peek := make([]byte, len(b)) // which must not count
			if _, _, err := unix.Recvfrom(fd, peek, unix.MSG_PEEK); err != nil {
				panic(err)
			}
			n, _, err := unix.Recvfrom(fd, b, 0)
			if err != nil || n == 0 {
				panic(err)
			}
			b = b[n:]
		}
	},
	"recvmsg": func(fd int, b []byte) {
		for len(b) > 0 {
			half := (len(b) + 1) / 2
			n, _, _, _, err := unix.RecvmsgBuffers(fd, [][]byte{b[:half], b[half:]}, nil, 0)
			if err != nil || n == 0 {
				panic(err)
			}
			b = b[n:]
		}
	},
	"recvmmsg": recvmmsg,
	"trunc": func(fd int, b []byte) {
		for left := len(b); left > 0; {
			n, _, err := unix.Recvfrom(fd, b[:left], unix.MSG_TRUNC)
			if err != nil || n == 0 {
				panic(err)
			}
			left -= n
		}
	},
	"mtrunc": discardMsgs, "empty": readFull,
	"eagain": readEagain, "sendfile": readFull, "splice": readFull, "mmap": readFull, "iovs": readFull,
}

// readEagain reads without waiting, failing often.
func readEagain(fd int, b []byte) {
	for len(b) > 0 {
		n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil || n == 0 {
			panic(err)
		}
		b = b[n:]
	}
}

func headOf(n int) string { return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n) }

// writes answer with the body.
var writes = map[string]func(fd int, arg string, body []byte){
	"read": func(fd int, _ string, body []byte) {
		unix.Write(fd, append([]byte(headOf(len(body))), body...))
	},
	"readv": func(fd int, _ string, body []byte) {
		half := len(body) / 2
		unix.Writev(fd, [][]byte{[]byte(headOf(len(body))), body[:half], body[half:]})
	},
	"recvfrom": func(fd int, _ string, body []byte) {
		unix.Sendto(fd, append([]byte(headOf(len(body))), body...), 0, nil)
	},
	"recvmsg": func(fd int, _ string, body []byte) {
		half := len(body) / 2
		unix.SendmsgBuffers(fd, [][]byte{[]byte(headOf(len(body))), body[:half], body[half:]}, nil, nil, 0)
	},
	"recvmmsg": func(fd int, _ string, body []byte) { sendmmsg(fd, []byte(headOf(len(body))), body) },
	"trunc":    func(fd int, _ string, _ []byte) { unix.Write(fd, []byte(headOf(0))) },
	"eagain":   writeEagain,
	"sendfile": writeSendfile,
	"splice":   writeSplice,
	"mmap":     writeMapped,
	"iovs":     writeIovs,
	"mtrunc":   func(fd int, _ string, _ []byte) { unix.Write(fd, []byte(headOf(0))) },
	"empty":    writeAround,
}

// bigBody is what the large answers hold.
func bigBody(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + i*i%23)
	}
	return b
}

// writeEagain writes 4 MB without waiting: partial writes and refused ones.
func writeEagain(fd int, _ string, _ []byte) {
	b := append([]byte(headOf(4<<20)), bigBody(4<<20)...)
	for len(b) > 0 {
		n, err := unix.SendmsgN(fd, b, nil, nil, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			panic(err)
		}
		b = b[n:]
	}
}

func tempFile(b []byte) *os.File {
	dir, err := os.MkdirTemp("", "lambdac-peer")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		panic(err)
	}
	f.Write(b)
	f.Sync()
	return f
}

func writeSendfile(fd int, _ string, _ []byte) {
	f := tempFile(bigBody(100000))
	defer f.Close()
	unix.Write(fd, []byte(headOf(100000)))
	for off := int64(0); off < 100000; {
		if _, err := unix.Sendfile(fd, int(f.Fd()), &off, int(100000-off)); err != nil {
			panic(err)
		}
	}
}

func writeSplice(fd int, _ string, _ []byte) {
	unix.Write(fd, []byte(headOf(1000)))
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	unix.Write(pipe[1], bigBody(1000))
	if n, err := unix.Splice(pipe[0], nil, fd, nil, 1000, 0); n != 1000 || err != nil {
		panic(err)
	}
}

// writeMapped writes from pages of a file that are not in memory.
func writeMapped(fd int, _ string, _ []byte) {
	f := tempFile(bigBody(1 << 20))
	defer f.Close()
	unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	m, err := unix.Mmap(int(f.Fd()), 0, 1<<20, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	unix.Write(fd, []byte(headOf(1<<20)))
	for off := 0; off < len(m); {
		n, err := unix.Write(fd, m[off:])
		if err != nil {
			panic(err)
		}
		off += n
	}
}

// writeIovs writes 10 MB by one call of 300 buffers.
func writeIovs(fd int, _ string, _ []byte) {
	b := bigBody(10 << 20)
	list := [][]byte{[]byte(headOf(len(b)))}
	for i := range 300 {
		list = append(list, b[i*len(b)/300:(i+1)*len(b)/300])
	}
	total := len(list[0]) + len(b)
	if n, err := unix.Writev(fd, list); n != total || err != nil {
		panic(fmt.Sprint("writev: ", n, err))
	}
}
