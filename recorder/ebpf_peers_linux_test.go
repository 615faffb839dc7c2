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
