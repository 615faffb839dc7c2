package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/hostcheck"
	"github.com/lambdac/lambdac/internal/jsonschema"
)

func TestDoctorSchema(t *testing.T) {
	jsonschema.Published(t, "../../docs/schema/doctor.v1.json", doctorSchema, doctorResult{}, ".", "../../internal/hostcheck")
}

// TestDoctor: the document is what its schema says, its exit code is what its
// findings say, and the text has each of them.
func TestDoctor(t *testing.T) {
	r, code := runDoctor(t)
	want := exitOK
	if hostcheck.Verdict(r.Findings, hostcheck.UseEBPF) == hostcheck.StateNo {
		want = exitMissed
	}
	if code != want {
		t.Errorf("exit %d, want %d", code, want)
	}
	var out, messages bytes.Buffer
	run([]string{"doctor"}, strings.NewReader(""), &out, &messages)
	for _, f := range r.Findings {
		if !strings.Contains(out.String(), f.Check) || f.State != hostcheck.StateOK && !strings.Contains(out.String(), f.Remedy) {
			t.Errorf("the text lacks %+v:\n%s", f, &out)
		}
	}
}

// runDoctor returns the document of doctor --json, held to its schema.
func runDoctor(t *testing.T, args ...string) (r doctorResult, code int) {
	t.Helper()
	var out, messages bytes.Buffer
	code = run(append([]string{"doctor", "--json"}, args...), strings.NewReader(""), &out, &messages)
	schema, err := os.ReadFile("../../docs/schema/doctor.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := jsonschema.Validate(schema, out.Bytes()); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &messages)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r, code
}

// TestDoctorUsage: a port that cannot be is wrong usage, not a finding.
func TestDoctorUsage(t *testing.T) {
	for _, args := range [][]string{{"doctor", "--port", "0"}, {"doctor", "--port", "x"}, {"doctor", "everything"}} {
		var out, messages bytes.Buffer
		if code := run(args, strings.NewReader(""), &out, &messages); code != exitUsage || !strings.Contains(messages.String(), "hint") && args[1] != "everything" {
			t.Errorf("%q: exit %d, %s", args, code, &messages)
		}
	}
}
