package replayer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

// discard is an Output that keeps nothing.
type discard struct{}

func (discard) Write(*trace.Record) error               { return nil }
func (discard) WriteFeatures(*trace.Features) error     { return nil }
func (discard) SetLevels([]trace.Level) error           { return nil }
func (discard) SetMarks([]trace.Mark) error             { return nil }
func (discard) SetManifest(func(*trace.Manifest)) error { return nil }

// A trace of ten requests is sent at twice its rate.
func ExampleRun() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":1}}`)
	}))
	defer service.Close()

	tr := replayer.Trace{Manifest: &trace.Manifest{Seal: &trace.Seal{Mode: trace.ModeShape, Version: "1"}}}
	for i := range 10 {
		r := &trace.Record{Identity: trace.Identity{RequestID: fmt.Sprint(i)}}
		r.StartUnixNs = int64(i) * int64(100*time.Millisecond)
		r.APIKind, r.InputTokens = trace.KindOpenAIChat, new(int64(8))
		tr.Records = append(tr.Records, r)
	}
	cfg := replayer.Config{Target: service.URL, Loads: []replayer.Load{{Scale: 2}}, Hold: time.Second, Seed: 1}
	result, err := replayer.Run(context.Background(), cfg, tr, discard{})
	if err != nil {
		fmt.Println(err)
		return
	}
	level := result.Levels[0]
	fmt.Printf("%g/s for %g s: %d scheduled, %d ok\n", level.OfferedPerS, level.Seconds(), level.Scheduled, level.Outcomes[trace.OutcomeOK])
	// Output: 20/s for 1 s: 20 scheduled, 20 ok
}
