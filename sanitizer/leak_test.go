package sanitizer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/leaktest"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// create makes a sealed trace directory.
func create(t *testing.T, dir string, cfg Config) *tracedir.Writer {
	t.Helper()
	seal, err := Seal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tracedir.Create(dir, &trace.Manifest{Origin: trace.OriginCapture, TimeBase: trace.TimeUnix, Seal: &seal}, tracedir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// planted is one value in one place.
type planted struct{ kind, place, value string }

// TestNoPlantedValueInRecords plants every kind in every place and looks at the
// record that comes of it.
func TestNoPlantedValueInRecords(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey, FeatureShare: 0.02}, out)
	s.targets.seen = everyTarget()
	r := rand.New(rand.NewPCG(1, 2))
	for _, place := range plantedPlaces() {
		for _, kind := range plantedKinds() {
			value := kind.make(r)
			x := chat(uint64(r.Int64()), 1, messages("hello"))
			place.put(x, value)
			if err := s.Take(x); err != nil {
				t.Fatal(err)
			}
			if err := s.Window(&trace.CaptureWindow{}); err != nil {
				t.Fatal(err)
			}
			if len(out.records) != 1 {
				t.Fatalf("%s in %s: %d records, want 1", kind.name, place.name, len(out.records))
			}
			text := []byte(dump(t, out.records[0]))
			out.records, out.windows = nil, nil
			for _, form := range spellings(value) {
				if bytes.Contains(text, form) {
					t.Errorf("%s in %s: %q survives", kind.name, place.name, form)
				}
			}
		}
	}
}

// TestNoPlantedValueIsWritten plants one value of every kind in every place and
// searches all that was written, decoded pages, dictionaries, statistics and
// footers included.
func TestNoPlantedValueIsWritten(t *testing.T) {
	cfg := Config{Key: testKey, FeatureShare: 0.02}
	dir := t.TempDir() + "/trace"
	w := create(t, dir, cfg)
	s := start(t, cfg, w)
	s.targets.seen = everyTarget()
	for port := range 4 { // leave room for a few
		delete(s.targets.seen, hostPort{"", port})
	}
	var values []planted
	var n int64
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range plantedKinds() {
		p := planted{kind.name, "any place", kind.make(r)}
		values = append(values, p)
		for _, place := range plantedPlaces() {
			x := chat(uint64(n), n*1e6, messages("hello"))
			place.put(x, p.value)
			if err := s.Take(x); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if err := s.Window(&trace.CaptureWindow{Source: "pcap", WindowNs: 1e9, ExchangesSeen: n}); err != nil {
		t.Fatal(err)
	}
	if s.losses.ExchangesWritten != n {
		t.Errorf("%d of %d exchanges were written", s.losses.ExchangesWritten, n)
	}
	closeAll(t, s, w)
	searchFor(t, dir, values)
}

func closeAll(t *testing.T, s *Sanitizer, w *tracedir.Writer) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// searchFor fails for every planted value that is found below dir.
func searchFor(t *testing.T, dir string, values []planted) {
	t.Helper()
	var needles [][]byte
	var of []planted
	for _, p := range values {
		for _, form := range spellings(p.value) {
			needles, of = append(needles, form), append(of, p)
		}
	}
	hits, err := leaktest.Find(dir, needles)
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range hits {
		t.Errorf("%s in %s: %q found: %s", of[hit.Needle].kind, of[hit.Needle].place, of[hit.Needle].value, hit)
	}
}

// The search itself must find what goes past the sanitizer.
func TestSearchFindsACanary(t *testing.T) {
	cfg := Config{Key: testKey}
	dir := t.TempDir() + "/trace"
	w := create(t, dir, cfg)
	s := start(t, cfg, w)
	if err := s.Take(chat(1, 0, messages("hello"))); err != nil {
		t.Fatal(err)
	}
	canary := "sk-" + random(rand.New(rand.NewPCG(3, 4)), alnums, 40)
	leak := chat(2, 1, "").Record
	leak.RequestID, leak.PathTemplate = "canary", "/v1/"+canary
	leak.ReqHeaders = map[string]string{"authorization": canary}
	leak.Bodies = []trace.Body{{Side: trace.SideRequest, Body: []byte(`{"prompt":"` + canary + `"}`)}}
	if err := w.Write(leak); err != nil {
		t.Fatal(err)
	}
	if err := w.SetManifest(func(m *trace.Manifest) { m.Warnings = append(m.Warnings, canary) }); err != nil {
		t.Fatal(err)
	}
	closeAll(t, s, w)
	hits, err := leaktest.Find(dir, [][]byte{[]byte(canary)})
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"path_template", "req_headers", "column body", "manifest.json: bytes"} {
		if !strings.Contains(fmt.Sprint(hits), where) {
			t.Errorf("the canary was found in %s, not in %s", fmt.Sprint(hits), where)
		}
	}
}
