package sanitizer

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

const captures = "../recorder/testdata/captures"

// TestCapturesLeaveNoPlantedValue records every capture of a real server into
// one trace directory and searches it for the credentials and identities that
// were planted in the traffic, those spread over several events included.
func TestCapturesLeaveNoPlantedValue(t *testing.T) {
	testenv.Long(t)
	files, err := filepath.Glob(captures + "/*.pcap*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	cfg := Config{Policy: DefaultPolicy(), Key: testKey, FeatureShare: 1}
	// Aliases of the gateways in the captures, as a team would name its own.
	cfg.Policy.Models = []string{"claude-planted-sonnet", "claude-unknown", "gpt-planted", "gemini-planted", "gemma-lcp"}
	root := t.TempDir()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		dir := filepath.Join(root, name)
		w := create(t, dir, cfg)
		s := start(t, cfg, w)
		report := record(t, file, s)
		closeAll(t, s, w)
		if !report.Totals.Balanced() || report.Totals.Dropped["sanitizer"] != 0 {
			t.Errorf("%s: losses %+v", name, report.Totals)
		}
		checkCapture(t, name, dir, report)
	}
	searchFor(t, root, append(plantedInCaptures(t), secretsOfCaptures(t)...))
}

func record(t *testing.T, file string, s *Sanitizer) recorder.Report {
	t.Helper()
	src, err := recorder.OpenFiles([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	report, err := recorder.Run(context.Background(), src, s, recorder.Config{KeepText: true, Version: "test", KeyLog: keyLogOf(t, file)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// keyLogOf reads the key log beside a capture; nil if it has none.
func keyLogOf(t *testing.T, capture string) *recorder.KeyLog {
	t.Helper()
	k, err := recorder.OpenKeyLog(strings.TrimSuffix(capture, filepath.Ext(capture)) + ".keylog")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		t.Fatal(err)
	}
	return k
}

// checkCapture reads the trace back: what analysis needs is still there.
func checkCapture(t *testing.T, name, dir string, report recorder.Report) {
	t.Helper()
	d, err := tracedir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for r, err := range tracedir.Rows[trace.Record](d) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if r.APIKind == trace.KindOpenAIChat && r.Outcome == trace.OutcomeOK && len(r.PrefixBlockIDs) == 0 {
			t.Errorf("%s: a chat has no block ids (%s)", name, r.BodyState)
		}
		if r.RequestModel != nil && strings.HasPrefix(*r.RequestModel, "model-") {
			t.Errorf("%s: an ordinary model name became %s", name, *r.RequestModel)
		}
		if r.ReqComplete && (strings.HasPrefix(r.PathTemplate, "/{id}") || r.HostPseudonym == "" || r.ReqHeaders["content-type"] != "" && !strings.HasPrefix(r.ReqHeaders["content-type"], "application/json")) {
			t.Errorf("%s: path %q, host %q, content-type %q", name, r.PathTemplate, r.HostPseudonym, r.ReqHeaders["content-type"])
		}
	}
	var features int64
	for f, err := range tracedir.Rows[trace.Features](d) {
		if err != nil {
			t.Fatal(err)
		}
		features++
		if f.Reason == nil || f.OutTokensSeen != nil && len(f.OutTokenBins) != 256 {
			t.Errorf("%s: odd features %+v", name, f)
		}
	}
	if n != report.Totals.ExchangesWritten || features != n {
		t.Errorf("%s: %d records, %d features, %d written", name, n, features, report.Totals.ExchangesWritten)
	}
	if targets := d.Manifest().CapturedTargets; n > 0 && len(targets) == 0 {
		t.Errorf("%s: no captured target", name)
	}
}

// plantedInCaptures reads the lists beside the captures.
func plantedInCaptures(t *testing.T) (values []planted) {
	t.Helper()
	files, err := filepath.Glob(captures + "/*.planted.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, file := range append(files, captures+"/planted-split.tsv") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			value := strings.TrimSpace(line)
			if _, split, ok := strings.Cut(value, "\t"); ok {
				value = split
			}
			if value != "" && value != "value" && !seen[value] {
				seen[value] = true
				values = append(values, planted{"planted value", filepath.Base(file), value})
			}
		}
	}
	if len(values) < 50 {
		t.Fatalf("%d planted values, want the lists of all captures", len(values))
	}
	return values
}

// TestLogsHoldNoPlantedValue runs the binary's path over a capture whose file
// secretsOfCaptures are the secrets in the key logs beside the captures, as hex
// and as they are.
func secretsOfCaptures(t *testing.T) (values []planted) {
	t.Helper()
	files, err := filepath.Glob(captures + "/*.keylog")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d key logs, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			text := line[strings.LastIndexByte(line, ' ')+1:]
			raw, err := hex.DecodeString(strings.TrimSpace(text))
			if err != nil || len(raw) < 32 {
				continue
			}
			values = append(values, planted{"TLS secret", filepath.Base(file), strings.TrimSpace(text)}, planted{"TLS secret", filepath.Base(file), string(raw)})
		}
	}
	return values
}

// TestErrorsHoldNoPlantedValue cuts a capture and reads what is said of it.
func TestErrorsHoldNoPlantedValue(t *testing.T) {
	data, err := os.ReadFile(captures + "/a-openai-python-chat.pcap")
	if err != nil {
		t.Fatal(err)
	}
	planted := plantedInCaptures(t)
	for _, cut := range []int{len(data) / 3, len(data) / 2, len(data) - 7} {
		out := &memory{}
		s := start(t, Config{Key: testKey}, out)
		src, err := recorder.OpenReaders([]recorder.Input{{Name: "cut.pcap", Reader: bytes.NewReader(data[:cut])}})
		if err != nil {
			t.Fatal(err)
		}
		report, err := recorder.Run(context.Background(), src, s, recorder.Config{})
		text := strings.Join(report.Warnings, "\n")
		if err != nil {
			text += err.Error()
		}
		for _, p := range planted {
			if strings.Contains(text, p.value) {
				t.Errorf("cut at %d: an error or warning repeats a planted value", cut)
			}
		}
	}
}
