package fault

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// partVar makes the test binary a part of a benchmark: a service, or a proxy in
// front of one, in a process of its own.
const partVar = "LAMBDAC_FAULT_PART"

func TestMain(m *testing.M) {
	switch part := os.Getenv(partVar); {
	case part == "service":
		serveUntilEOF(httptest.NewServer(http.HandlerFunc(apart)).URL)
	case part != "":
		proxyPart(part)
	default:
		os.Exit(m.Run())
	}
}

func serveUntilEOF(address string) {
	fmt.Println(address)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

const (
	benchEvents  = 50
	benchStreams = 200
)

// apart is a stream of 50 events, 10 ms apart, so that each travels by itself.
func apart(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	event := []byte("data: " + `{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n")
	for range benchEvents {
		_, _ = w.Write(event)
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

// proxyPart is a proxy whose fault falls on the share of the exchanges.
func proxyPart(part string) {
	target, flag, _ := strings.Cut(part, " ")
	u, err := url.Parse(target)
	if err == nil {
		var spec Spec
		if spec, err = ParseFlag(flag); err == nil {
			var p *Proxy
			if p, err = NewProxy(context.Background(), ProxyConfig{Target: u, Faults: []Spec{spec}}); err == nil {
				ln, listenErr := net.Listen("tcp", "127.0.0.1:0")
				if err = listenErr; err == nil {
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan error)
					go func() { done <- p.Serve(ctx, ln) }()
					serveUntilEOF("http://" + ln.Addr().String())
					cancel()
					<-done
				}
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// startPart starts a part; end stops it and returns the CPU time it took.
func startPart(b *testing.B, part string) (address string, end func() time.Duration) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), partVar+"="+part), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line), func() time.Duration {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}

// BenchmarkProxyStreams passes 200 streams at once through a proxy in a process
// of its own, whose events travel one by one: events per second of the proxy's
// CPU time, with a fault that falls on none of the streams, and with one that
// reads each event of all.
func BenchmarkProxyStreams(b *testing.B) {
	for name, flag := range map[string]string{"idle": "cut,share=1%,model=none", "reading": "duplicate-event,after=1000000"} {
		b.Run(name, func(b *testing.B) {
			service, endService := startPart(b, "service")
			proxy, end := startPart(b, service+" "+flag)
			start := time.Now()
			for range b.N {
				var all sync.WaitGroup
				for range benchStreams {
					all.Go(func() { drainStream(b, proxy) })
				}
				all.Wait()
			}
			took, cpu := time.Since(start), end()
			endService()
			events := float64(b.N * benchStreams * benchEvents)
			b.ReportMetric(events/cpu.Seconds(), "events/cpu-s")
			b.ReportMetric(events/took.Seconds(), "events/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func drainStream(b *testing.B, target string) {
	resp, err := http.Post(target+"/v1/chat/completions", "application/json", strings.NewReader(chatBody(0)))
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		b.Error(err)
	}
}

// BenchmarkChoice is what three faults that fall on nothing cost an exchange.
func BenchmarkChoice(b *testing.B) {
	in, err := New(b.Context(), Config{Faults: parseAll(b, "http-429,share=0.0001%", "cut,share=0.0001%", "delay,from=1h"), Seed: 1, Base: &http.Transport{}})
	if err != nil {
		b.Fatal(err)
	}
	x := &Exchange{ID: "0123456789abcdef#12", Path: "/v1/chat/completions"}
	b.ReportAllocs()
	for b.Loop() {
		if in.choose(x) != 0 {
			b.Fatal("chosen")
		}
	}
}
