package gitleaks

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/lambdac/lambdac/internal/testenv"
	ours "github.com/lambdac/lambdac/sanitizer/detect"
)

// sample is a text of presidio-research's synthetic data set,
// data/synth_dataset_v2.json, or of Presidio's findings in it.
type sample struct {
	Text  string `json:"full_text"`
	Spans []span `json:"spans"`
}

// span is an entity by code points, which inBytes makes bytes.
type span struct {
	Type  string `json:"entity_type"`
	Start int    `json:"start_position"`
	End   int    `json:"end_position"`
}

// classOf maps the data set's structured types to classes of ours.
var classOf = map[string]ours.Class{
	"CREDIT_CARD": ours.Card, "US_SSN": ours.NationalID, "PHONE_NUMBER": ours.Phone,
	"EMAIL_ADDRESS": ours.Email, "IBAN_CODE": ours.IBAN, "IP_ADDRESS": ours.IP,
}

// score counts, for one type, spans, those that findings cover, findings, and
// those that touch a span of the type.
type score struct{ spans, covered, findings, right int }

// TestCalibrateSynthetic prints recall and precision on the data set at
// LAMBDAC_SYNTHETIC, for the detectors, for gitleaks, and for Presidio, whose
// findings presidio.py has put in LAMBDAC_PRESIDIO.
func TestCalibrateSynthetic(t *testing.T) {
	testenv.Calibration(t)
	var samples []sample
	read(t, "LAMBDAC_SYNTHETIC", &samples)
	var presidio [][]span
	read(t, "LAMBDAC_PRESIDIO", &presidio)
	if len(presidio) != len(samples) {
		t.Fatalf("Presidio has findings in %d of %d texts", len(presidio), len(samples))
	}
	scanner, err := ours.New(ours.Config{})
	if err != nil {
		t.Fatal(err)
	}
	second := newGitleaks(t)
	tables := []map[string]*score{{}, {}, {}}
	for i, s := range samples {
		truth := inBytes(s.Text, s.Spans)
		tally(tables[0], truth, oursIn(scanner, s.Text))
		tally(tables[1], truth, inBytes(s.Text, presidio[i]))
		tally(tables[2], truth, gitleaksIn(second, s.Text))
	}
	for i, name := range []string{"lambdac", "Presidio", "gitleaks"} {
		for _, kind := range append(types(), "SECRET") {
			if c := tables[i][kind]; c != nil {
				fmt.Printf("%-9s %-14s recall %3d of %3d, precision %3d of %3d\n", name, kind, c.covered, c.spans, c.right, c.findings)
			}
		}
	}
}

func types() (names []string) {
	for name := range classOf {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func read(t *testing.T, variable string, into any) {
	t.Helper()
	data, err := os.ReadFile(os.Getenv(variable))
	if err != nil {
		t.Fatalf("set %s to a file: %v", variable, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// inBytes turns positions by code points into bytes.
func inBytes(text string, spans []span) []span {
	at := []int{}
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	spans = slices.Clone(spans)
	for i := range spans {
		spans[i].Start, spans[i].End = at[spans[i].Start], at[spans[i].End]
	}
	return spans
}

// oursIn are the detectors' findings by the data set's types; other classes
// are SECRET or nothing.
func oursIn(s *ours.Scanner, text string) (found []span) {
	for _, f := range s.Find(nil, []byte(text)) {
		kind := ""
		for name, class := range classOf {
			if class == f.Class {
				kind = name
			}
		}
		if f.Class == ours.Secret {
			kind = "SECRET"
		}
		found = append(found, span{kind, f.Start, f.End})
	}
	return found
}

func newGitleaks(t *testing.T) *detect.Detector {
	t.Helper()
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	d.IgnoreGitleaksAllow = true
	return d
}

// gitleaksIn are the places of the values that gitleaks finds.
func gitleaksIn(d *detect.Detector, text string) (found []span) {
	for _, f := range d.DetectString(text) {
		if at := strings.Index(text, f.Secret); at >= 0 && f.Secret != "" {
			found = append(found, span{"SECRET", at, at + len(f.Secret)})
		}
	}
	return found
}

// tally adds one text up. A span is covered where findings of any type cover
// all of it; a finding is right where it touches a span of its type.
func tally(table map[string]*score, truth, found []span) {
	of := func(kind string) *score {
		if table[kind] == nil {
			table[kind] = &score{}
		}
		return table[kind]
	}
	for _, want := range truth {
		if _, known := classOf[want.Type]; !known {
			continue
		}
		of(want.Type).spans++
		if slices.ContainsFunc(found, func(f span) bool { return f.Start <= want.Start && f.End >= want.End }) {
			of(want.Type).covered++
		}
	}
	for _, f := range found {
		if f.Type == "" {
			continue
		}
		of(f.Type).findings++
		if slices.ContainsFunc(truth, func(s span) bool { return s.Type == f.Type && f.Start < s.End && s.Start < f.End }) {
			of(f.Type).right++
		}
	}
}
