//go:build amd64 || arm64

package recorder

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// peers are the servers that tests run in a process of their own.
var peers map[string]func(arg string)

func init() {
	peers = map[string]func(string){
		"echo":   serve(peerEcho),
		"acts":   serve(peerActs),
		"calls":  serve(peerCalls),
		"unix":   peerUnix,
		"worker": peerWorker,
		"hop":    peerHop,
		"pour":   serve(peerPour),
		"raw":    serve(peerRaw),
		"uring":  serve(peerURing),
		"switch": peerSwitch,
		"hand":   peerHand,
		"handed": peerHanded,
	}
}

// peerPause is how long a peer pauses where a case has a longer pause: longer
// than anything here waits for.
const peerPause = 1500 * time.Millisecond

// readRequest reads one request and its body; false at the connection's end.
func readRequest(r *bufio.Reader) (*http.Request, []byte, bool) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, nil, false
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, nil, false
	}
	return req, body, true
}

// peerEcho answers each request with its path and body.
func peerEcho(c *net.TCPConn, r *bufio.Reader) {
	for {
		req, body, ok := readRequest(r)
		if !ok {
			return
		}
		io.WriteString(c, echoOf(req.URL.Path, string(body)))
	}
}

func echoOf(path, body string) string {
	text := path + " " + body
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
}

// peerActs does what the query asks for.
func peerActs(c *net.TCPConn, r *bufio.Reader) {
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		act := acts[req.URL.RawQuery]
		if act == nil || !act(c, req) {
			return
		}
	}
}

// acts are answers by what is asked for in the query. Those that return false
// end the connection.
var acts = map[string]func(c *net.TCPConn, req *http.Request) bool{
	"pause":    actPause,
	"wait":     actWait,
	"split":    actSplit,
	"burst":    actBurst,
	"trailer":  actTrailer,
	"plain":    actPlain,
	"head":     actHead,
	"204":      actStatus("HTTP/1.1 204 No Content\r\n\r\n"),
	"304":      actStatus("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"),
	"continue": actContinue,
	"417":      actRefuse("417 Expectation Failed"),
	"413":      actRefuse("413 Content Too Large"),
	"503":      actRefuse("503 Service Unavailable"),
	"429":      actRefuse("429 Too Many Requests"),
	"gzip":     actCoded("gzip"),
	"zstd":     actCoded("zstd"),
	"br":       actCoded("br"),
	"gzipsse":  actGzipStream,
	"endless":  actEndless,
	"reset":    actReset,
	"quit":     actQuit,
	"ollama":   actOllama,
	"upgrade":  actUpgrade,
}

func swallow(req *http.Request) bool {
	_, err := io.Copy(io.Discard, req.Body)
	return err == nil
}

func actPause(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead)
	io.WriteString(c, chunk(textEvent("one")))
	time.Sleep(peerPause)
	io.WriteString(c, chunk(textEvent("two")))
	io.WriteString(c, chunk(endEvent)+chunk(doneEvent)+"0\r\n\r\n")
	return true
}

// actWait pauses until the process has SIGUSR1.
func actWait(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	io.WriteString(c, sseHead)
	io.WriteString(c, chunk(textEvent("one")))
	<-signals
	io.WriteString(c, chunk(textEvent("two")))
	io.WriteString(c, chunk(endEvent)+chunk(doneEvent)+zeroChunk)
	return true
}

// actSplit cuts an event within a rune.
func actSplit(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead)
	whole := chunk(textEventRaw("é"))
	at := strings.Index(whole, "é") + 1
	io.WriteString(c, whole[:at])
	time.Sleep(100 * time.Millisecond)
	io.WriteString(c, whole[at:])
	io.WriteString(c, chunk(endEvent)+chunk(doneEvent)+"0\r\n\r\n")
	return true
}

func textEventRaw(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

func actBurst(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead)
	io.WriteString(c, strings.Repeat(chunk(textEvent("x")), 20))
	io.WriteString(c, chunk(doneEvent)+"0\r\n\r\n")
	return true
}

func actTrailer(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead)
	io.WriteString(c, chunk(textEvent("x"))+chunk(endEvent)+chunk(doneEvent))
	time.Sleep(300 * time.Millisecond)
	io.WriteString(c, "0\r\nX-Trailer: yes\r\n\r\n")
	return true
}

func actPlain(c *net.TCPConn, req *http.Request) bool {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return false
	}
	io.WriteString(c, echoOf(req.URL.Path, string(body)))
	return true
}

func actHead(c *net.TCPConn, req *http.Request) bool {
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
	return true
}

func actStatus(answer string) func(*net.TCPConn, *http.Request) bool {
	return func(c *net.TCPConn, req *http.Request) bool {
		swallow(req)
		io.WriteString(c, answer)
		return true
	}
}

func actContinue(c *net.TCPConn, req *http.Request) bool {
	io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
	swallow(req)
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	return true
}

// actRefuse answers before the body is read, and closes.
func actRefuse(status string) func(*net.TCPConn, *http.Request) bool {
	return func(c *net.TCPConn, req *http.Request) bool {
		io.WriteString(c, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return false
	}
}

// codedText is what the coded answers hold.
var codedText = strings.Repeat("a text that compresses well. ", 100)

func actCoded(coding string) func(*net.TCPConn, *http.Request) bool {
	return func(c *net.TCPConn, req *http.Request) bool {
		swallow(req)
		var b bytes.Buffer
		var w io.WriteCloser
		switch coding {
		case "gzip":
			w = gzip.NewWriter(&b)
		case "zstd":
			w, _ = zstd.NewWriter(&b)
		case "br":
			w = brotli.NewWriter(&b)
		}
		io.WriteString(w, codedText)
		w.Close()
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, b.Len(), b.Bytes())
		return true
	}
}

// actGzipStream flushes the coder at each event.
func actGzipStream(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, strings.Replace(sseHead, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1))
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, event := range []string{textEvent("a"), textEvent("b"), textEvent("c"), endEvent + doneEvent} {
		io.WriteString(w, event)
		w.Flush()
		io.WriteString(c, chunk(b.String()))
		b.Reset()
		time.Sleep(100 * time.Millisecond)
	}
	w.Close()
	io.WriteString(c, chunk(b.String())+"0\r\n\r\n")
	return true
}

// actEndless streams until the client is gone.
func actEndless(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead)
	for {
		if _, err := io.WriteString(c, chunk(textEvent("x"))); err != nil {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func actReset(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead+chunk(textEvent("x")))
	time.Sleep(50 * time.Millisecond)
	c.SetLinger(0)
	return false
}

// actQuit ends in the middle with a FIN.
func actQuit(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, sseHead+chunk(textEvent("x")))
	return false
}

func actOllama(c *net.TCPConn, req *http.Request) bool {
	swallow(req)
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, word := range []string{"a", "b"} {
		io.WriteString(c, chunk(`{"model":"q","message":{"role":"assistant","content":"`+word+`"},"done":false}`+"\n"))
	}
	io.WriteString(c, chunk(`{"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}`+"\n")+"0\r\n\r\n")
	return true
}

func actUpgrade(c *net.TCPConn, req *http.Request) bool {
	io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	io.WriteString(c, strings.Repeat("\x81\x05hello", 20))
	return false
}

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

// peerRaw sends what does not look like HTTP and reads what comes.
func peerRaw(c *net.TCPConn, r *bufio.Reader) {
	c.Write([]byte("\x16\x03\x03\x00\x10" + strings.Repeat("x", 16)))
	io.Copy(io.Discard, r)
}

// peerPour answers each request with the number of bytes that its query says.
func peerPour(c *net.TCPConn, r *bufio.Reader) {
	piece := bigBody(1000)
	for {
		req, _, ok := readRequest(r)
		if !ok {
			return
		}
		n := 0
		fmt.Sscanf(req.URL.RawQuery, "%d", &n)
		io.WriteString(c, headOf(n*len(piece)))
		for range n {
			c.Write(piece)
		}
	}
}

// peerUnix is an echo server on an AF_UNIX socket, with a TCP port only to say
// that it is there.
func peerUnix(path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Println(path)
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			r := bufio.NewReader(c)
			for {
				req, body, ok := readRequest(r)
				if !ok {
					return
				}
				io.WriteString(c, echoOf(req.URL.Path, string(body)))
			}
		}()
	}
}

// peerHop is a proxy and the server behind it: the latter's port is asked for
// too.
func peerHop(string) {
	back := listenTCP("127.0.0.1:0")
	go func() {
		for {
			c, err := back.Accept()
			if err != nil {
				panic(err)
			}
			go peerEcho(c.(*net.TCPConn), bufio.NewReader(c))
		}
	}()
	front := listenTCP("127.0.0.1:0")
	fmt.Println(front.Addr(), back.Addr())
	for {
		c, err := front.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			b, err := net.Dial("tcp", back.Addr().String())
			if err != nil {
				panic(err)
			}
			defer b.Close()
			// By read and write; by itself io.Copy takes splice.
			go io.Copy(struct{ io.Writer }{b}, struct{ io.Reader }{c})
			io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{b})
		}()
	}
}

// peerWorker is one of several processes that accept on one port.
func peerWorker(addr string) {
	lc := net.ListenConfig{Control: reusePort}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		panic(err)
	}
	listening(l)
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		// Served through a duplicate, one after the other, so that numbers of
		// descriptors are used again.
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			panic(err)
		}
		c.Close()
		fd := int(f.Fd())
		for head := readHead(fd); head != ""; head = readHead(fd) {
			path := strings.Fields(head)[1]
			unix.Write(fd, []byte(echoOf(path, "")))
		}
		f.Close()
	}
}
