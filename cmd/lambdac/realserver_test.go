package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lambdac/lambdac/analyzer"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// TestCalibrateRealServer brackets by a search the load up to which four of five
// chats of 20 and 8 tokens have their first token of llama.cpp within eight
// seconds.
func TestCalibrateRealServer(t *testing.T) {
	testenv.Calibration(t)
	lambdac, dir := buildBinary(t), t.TempDir()
	chats, run := filepath.Join(dir, "chats"), filepath.Join(dir, "run")
	writeShortChats(t, chats, 1000, 100*time.Millisecond)
	const slo = "error_rate 20%"
	replay := exec.Command(lambdac, "replay", chats, "--target", testenv.RealServer(t, 4, 2048),
		"--search", "0.25,4", "--search-slo", slo, "--timeout-first-token", "8s", "--ignore-eos",
		"--hold", "30s", "--warmup", "3s", "--drain", "15s", "--budget", "6m", "--max-lag", "200ms", "-o", run)
	said, err := replay.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(lambdac, "analyze", run, "--slo", slo, "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var a analyzer.Analysis
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	l := a.LambdaSLO
	if l.Verdict != analyzer.Found || l.Low == nil || l.High == nil || *l.Low >= *l.High {
		t.Fatalf("not bracketed: %+v", l)
	}
	t.Logf("λ_SLO is between %.4g and %.4g/s, by %d levels", *l.Low, *l.High, len(a.Levels))
}

// writeShortChats writes a trace of streamed chats of 20 and 8 tokens.
func writeShortChats(t *testing.T, dir string, n int, gap time.Duration) {
	t.Helper()
	seal := &trace.Seal{Mode: trace.ModeShape, Version: "1"}
	w, err := tracedir.Create(dir, &trace.Manifest{TraceID: "chats", Seal: seal, Clean: true}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := &trace.Record{Identity: trace.Identity{RequestID: fmt.Sprint("r", i), Origin: trace.OriginCapture}}
		r.StartUnixNs, r.ArrivalResolutionNs = int64(time.Duration(i)*gap), 1
		r.APIKind, r.Stream, r.RequestModel, r.Method = trace.KindOpenAIChat, true, new("m"), "POST"
		r.PathTemplate = "/v1/chat/completions"
		r.Messages = []trace.Message{{Role: trace.RoleUser, Bytes: 80}}
		r.InputTokens, r.OutputTokens, r.TokenSource = new(int64(20)), new(int64(8)), trace.TokensUsage
		r.Outcome, r.SanitizerMode, r.SanitizerVersion = trace.OutcomeOK, seal.Mode, seal.Version
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
