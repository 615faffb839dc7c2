package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sseTarget is the service that a recorder watches: a process of its own that
// streams events at a fixed rate on each connection and measures itself. It is
// told by lines on its standard input when events are to flow and when to hold
// those of new connections, and how long to measure, and ends with it.
//
//	ssetarget plain|tls EVERY
func sseTarget() {
	every, err := time.ParseDuration(os.Args[2])
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	if os.Args[1] == "tls" {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{selfSigned()}})
	}
	t := &target{every: every, flow: make(chan struct{})}
	go t.serve(l)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		command, arg, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "flow":
			close(t.flow)
		case "hold":
			t.mu.Lock()
			t.flow = make(chan struct{})
			t.mu.Unlock()
		case "measure": // by its own clock: a line may wait where it has more to do than it can
			span, err := time.ParseDuration(arg)
			if err != nil {
				panic(err)
			}
			t.begin()
			time.Sleep(span)
			if err := json.NewEncoder(os.Stdout).Encode(t.end()); err != nil {
				panic(err)
			}
		}
	}
}

// target is what sseTarget measures of itself.
type target struct {
	every time.Duration
	mu    sync.Mutex
	flow  chan struct{} // closed while events flow
	on    bool
	start time.Time
	used  time.Duration
	late  []int32 // µs from when a write was due to when it had returned
}

// targetStats is one interval of a target.
type targetStats struct {
	Writes       int
	Seconds      float64
	CPUNs        int64
	P50Us, P99Us int32
}

func (t *target) serve(l net.Listener) {
	for n := 0; ; n++ {
		c, err := l.Accept()
		if err != nil {
			return
		}
		phase := time.Duration(n%97) * t.every / 97
		go func() {
			defer c.Close()
			t.stream(c, phase)
		}()
	}
}

// stream answers one request with events until the other side has gone.
func (t *target) stream(c net.Conn, phase time.Duration) {
	r := bufio.NewReaderSize(c, 512)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if strings.TrimSpace(line) == "" {
			break
		}
	}
	if _, err := c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")); err != nil {
		return
	}
	t.mu.Lock()
	flow := t.flow
	t.mu.Unlock()
	<-flow
	event := `data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	piece := fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
	for due := time.Now().Add(phase); ; due = due.Add(t.every) {
		time.Sleep(time.Until(due))
		if _, err := c.Write(piece); err != nil {
			return
		}
		t.wrote(time.Since(due))
	}
}

func (t *target) wrote(late time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on {
		t.late = append(t.late, int32(late.Microseconds()))
	}
}

func targetCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (t *target) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on, t.start, t.used, t.late = true, time.Now(), targetCPU(), t.late[:0]
}

func (t *target) end() targetStats {
	used := targetCPU()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = false
	s := targetStats{Writes: len(t.late), Seconds: time.Since(t.start).Seconds(), CPUNs: (used - t.used).Nanoseconds()}
	slices.Sort(t.late)
	if n := len(t.late); n > 0 {
		s.P50Us, s.P99Us = t.late[n/2], t.late[n*99/100]
	}
	return s
}

func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
