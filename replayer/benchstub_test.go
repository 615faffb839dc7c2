package replayer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
)

// stubVar makes the test binary a service, by the name of one in stubs: what is
// measured of a client needs one in a process of its own, on cores of its own
// where the machine has them.
const stubVar = "LAMBDAC_REPLAYER_STUB"

func TestMain(m *testing.M) {
	if name := os.Getenv(stubVar); name != "" {
		serveStub(stubs[name]())
		return
	}
	os.Exit(m.Run())
}

var stubs = map[string]func() http.Handler{"fast": fastStub, "stamped": stampedStub, "held": heldStub}

// serveStub serves until standard input ends, and says where.
func serveStub(handler http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	go func() { _ = http.Serve(l, handler) }()
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startStub starts a service and returns its URL and its process.
func startStub(tb testing.TB, name string) (url string, pid int) {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), stubVar+"="+name)
	cmd.Stderr = os.Stderr
	url = "http://" + testenv.Serve(tb, cmd)
	return url, cmd.Process.Pid
}

// benchEvents are the events of a stub's stream, each a write of its own.
const benchEvents = 50

const (
	benchEvent = "data: " + `{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	benchEnd   = "data: " + `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":49}}` + "\n\ndata: [DONE]\n\n"
	benchWhole = `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":" word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":1}}`
)

// fastStub answers as fast as it can, with a stream where one is asked for.
func fastStub() http.Handler {
	event, end := []byte(benchEvent), []byte(benchEnd)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodGet || !bytes.Contains(bytes.ReplaceAll(body, []byte(" "), nil), []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, benchWhole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flush := w.(http.Flusher)
		for range benchEvents - 1 {
			_, _ = w.Write(event)
			flush.Flush()
		}
		_, _ = w.Write(end)
	})
}

// stubStamps are the moments of one answer by the stub's own clock, ns.
type stubStamps struct{ Arrived, First, Last int64 }

// stubID is the field of an answer's head by which its stamps are found.
const stubID = "X-Stub-Id"

// stampedStub answers with 49 tokens, the first after 50 ms, the others 10 ms
// apart, and notes when it wrote them; GET /stamps tells.
func stampedStub() http.Handler {
	var mu sync.Mutex
	var all []stubStamps
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(all)
			return
		}
		id := len(all)
		all = append(all, stubStamps{Arrived: arrived.UnixNano()})
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set(stubID, strconv.Itoa(id))
		var first, last int64
		for i := range benchEvents - 1 {
			time.Sleep(time.Until(arrived.Add(50*time.Millisecond + time.Duration(i)*10*time.Millisecond)))
			last = time.Now().UnixNano()
			if i == 0 {
				first = last
			}
			_, _ = io.WriteString(w, benchEvent)
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, benchEnd)
		mu.Lock()
		all[id].First, all[id].Last = first, last
	})
}

// heldStub sends one event and holds the stream until its client leaves; GET
// /open tells how many are open.
func heldStub() http.Handler {
	var open atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, open.Load())
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, benchEvent)
		w.(http.Flusher).Flush()
		open.Add(1)
		defer open.Add(-1)
		<-r.Context().Done()
	})
}

// askStub gets what a stub tells at a path.
func askStub(tb testing.TB, url string, into any) {
	tb.Helper()
	resp, err := http.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		tb.Fatal(err)
	}
}
