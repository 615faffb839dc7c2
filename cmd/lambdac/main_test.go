package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lambdac/lambdac/internal/sim"
	"github.com/lambdac/lambdac/internal/twin"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lambdac": main, "ssetarget": sseTarget})
}

// TestScripts runs one user story per file of testdata/script.
//
//	serve KIND VAR    start a target in this process; its URL goes to $VAR
//	mkcapture KIND F  write a small capture file
//	validate FILE…    check JSON documents against the published schemas
//	head N FILE TO    copy the first N bytes of a file
//	garble FILE TO    copy a file and append what is none of it
//	exit CODE CMD…    run CMD, which must end with this exit code
//	samples RUN S M|M check that a run's telemetry has values of metrics M of source S
func TestScripts(t *testing.T) {
	captures, err := filepath.Abs("../../recorder/testdata/captures")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CAPTURES", captures)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":     serve,
			"mkcapture": makeCapture,
			"head":      head,
			"garble":    garble,
			"exit":      exits,
			"validate":  validate,
			"soon":      soon,
			"expand":    expand,
			"samples":   samples,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE CMD…")
	}
	code := "0"
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// soon sets a variable to a moment that lies so far ahead.
func soon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: soon DURATION VAR")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	ts.Setenv(args[1], time.Now().Add(d).Format(time.RFC3339Nano))
}

// expand puts the values of variables into files.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE…")
	}
	for _, file := range args {
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(os.Expand(ts.ReadFile(file), ts.Getenv)), 0o600))
	}
}

// targets are what a replay may meet, good and bad.
var targets = map[string]http.HandlerFunc{
	"html": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html><body>welcome</body></html>"))
	},
	"redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1"+r.URL.Path, http.StatusMovedPermanently)
	},
	"unknown-model": answer(http.StatusNotFound, `{"error":{"type":"not_found_error"}}`),
	"unavailable":   answer(http.StatusServiceUnavailable, `{"error":{"type":"overloaded"}}`),
	"broken": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"error":{"type":"server_error"}}`))
	},
}

// answer is a service with a list of models and one answer to all else.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data":[]}`))
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve KIND VAR")
	}
	var handler http.Handler = targets[args[0]]
	if args[0] == "sim" || args[0] == "slow-sim" || args[0] == "restarts" {
		server, err := sim.New(sim.Config{Params: twin.DemoParams(1), Seed: 1})
		ts.Check(err)
		ts.Defer(func() { _ = server.Close() })
		handler = server
		if args[0] == "restarts" {
			handler = restarting(server)
		}
		if args[0] == "slow-sim" {
			handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(100 * time.Millisecond)
				server.ServeHTTP(w, r)
			})
		}
	}
	if handler == nil {
		ts.Fatalf("no target %q", args[0])
	}
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv(args[1], server.URL)
}

// makeCapture writes a pcap header and, for "cut", half a packet; for
// "damaged" one of a length that cannot be.
func makeCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkcapture KIND FILE")
	}
	link := map[string]uint32{"empty": 1, "cut": 1, "damaged": 1, "unknown-link": 147}
	n, ok := link[args[0]]
	if !ok {
		ts.Fatalf("no capture %q", args[0])
	}
	var b bytes.Buffer
	for _, v := range []any{uint32(0xa1b2c3d4), uint16(2), uint16(4), uint32(0), uint32(0), uint32(65535), n} {
		ts.Check(binary.Write(&b, binary.LittleEndian, v))
	}
	if args[0] == "damaged" {
		b.Write(bytes.Repeat([]byte{0xff}, 16))
	} else if args[0] != "empty" {
		for _, v := range []uint32{1, 0, 60, 60, 0, 0} { // the header promises 60 bytes, 8 follow
			ts.Check(binary.Write(&b, binary.LittleEndian, v))
		}
	}
	if args[0] == "unknown-link" {
		b.Write(make([]byte, 52))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o600))
}

func head(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: head N FILE TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data := ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(data[:n]), 0o600))
}

func garble(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: garble FILE TO")
	}
	garbled := append([]byte(ts.ReadFile(args[0])), bytes.Repeat([]byte{0xff}, 100)...)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), garbled, 0o600))
}
