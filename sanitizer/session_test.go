package sanitizer

import (
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// step is one request of a scenario, and where it should stand.
type step struct {
	name   string
	start  int64 // seconds
	body   string
	header string // X-Session-Id
	parent int    // index of the step before it, -1 = none
	turn   int32
	source trace.SessionSource
}

func TestSessions(t *testing.T) {
	const tree, header, field = trace.SessionPrefixTree, trace.SessionHeader, trace.SessionBodyField
	steps := []step{
		{"first turn", 0, messages("hi"), "", -1, 0, tree},
		{"another conversation", 1, messages("hello"), "", -1, 0, tree},
		{"second turn", 10, messages("hi", "yes?", "a question"), "", 0, 1, tree},
		{"third turn", 20, messages("hi", "yes?", "a question", "an answer", "thanks"), "", 2, 2, tree},
		{"a branch of the second", 30, messages("hi", "yes?", "a question", "another answer", "no"), "", 2, 2, tree},
		{"text that only begins alike", 31, messages("hi there"), "", -1, 0, tree},
		{"same request again", 40, messages("hi"), "", -1, 0, tree},
		{"named by a header", 50, messages("x"), "abc", -1, 0, header},
		{"named again", 60, messages("y"), "abc", 7, 1, header},
		{"named by the body", 70, `{"session_id":"abc","messages":[{"role":"user","content":"z"}]}`, "", 8, 2, field},
		{"before its parent ended", 71, messages("x2"), "abc", -1, 3, header},
	}
	out := &memory{}
	s := start(t, Config{Key: testKey}, out)
	for i, st := range steps {
		x := chat(uint64(i), st.start*1e9, st.body)
		x.Record.TEndUs = new(int64(2_000_000))
		if st.header != "" {
			x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "X-Session-Id", Value: st.header})
		}
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		checkStep(t, st, out.records)
	}
}

func checkStep(t *testing.T, want step, records []*trace.Record) {
	t.Helper()
	got := records[len(records)-1]
	if got.SessionSource != want.source || *got.Turn != want.turn {
		t.Errorf("%s: source %s, turn %d; want %s, %d", want.name, got.SessionSource, *got.Turn, want.source, want.turn)
	}
	if want.parent < 0 {
		if got.ParentRequestID != nil || got.ThinkTimeUs != nil {
			t.Errorf("%s: has a parent", want.name)
		}
		return
	}
	parent := records[want.parent]
	if got.ParentRequestID == nil || *got.ParentRequestID != parent.RequestID || *got.SessionID != *parent.SessionID {
		t.Fatalf("%s: parent %v, want step %d", want.name, got.ParentRequestID, want.parent)
	}
	think := (got.StartUnixNs-parent.StartUnixNs)/1000 - *parent.TEndUs
	if *got.ThinkTimeUs != think {
		t.Errorf("%s: think time %d, want %d", want.name, *got.ThinkTimeUs, think)
	}
}

func TestRetries(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey}, out)
	for i, tc := range []struct {
		name, body, tenant string
		start              int64 // seconds
		of                 int   // -1 = no retry
		attempt            int32
	}{
		{"first", messages("a"), "x", 0, -1, 0},
		{"retry", messages("a"), "x", 5, 0, 2},
		{"retry of the retry", messages("a"), "x", 60, 1, 3},
		{"after the window", messages("a"), "x", 200, -1, 0},
		{"other tenant", messages("a"), "y", 201, -1, 0},
		{"other body", messages("b"), "x", 202, -1, 0},
		{"began before the one it equals", messages("a"), "x", 190, -1, 0},
		{"no body", "", "x", 203, -1, 0},
		{"no body again", "", "x", 204, -1, 0},
	} {
		x := chat(uint64(i), tc.start*1e9, tc.body)
		x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "Authorization", Value: "Bearer " + tc.tenant})
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		got := out.records[i]
		switch {
		case tc.of < 0 && (got.RetryOf != nil || got.Attempt != nil):
			t.Errorf("%s: is a retry", tc.name)
		case tc.of >= 0 && (got.RetryOf == nil || *got.RetryOf != out.records[tc.of].RequestID || *got.Attempt != tc.attempt):
			t.Errorf("%s: retry of %v, want step %d", tc.name, got.RetryOf, tc.of)
		}
	}
}

func TestTenant(t *testing.T) {
	out := &memory{}
	s := start(t, Config{Key: testKey}, out)
	for i, f := range []struct {
		name, value, target string
	}{
		{"Authorization", "Bearer abc", "/v1/models"},
		{"X-Api-Key", "abc", "/v1/models"},
		{"Accept", "*/*", "/v1/models?key=abc"},
		{"Authorization", "Bearer other", "/v1/models?key=abc"},
		{"Accept", "*/*", "/v1/models"},
	} {
		x := chat(uint64(i), 0, "")
		x.Target = f.target
		x.ReqHeader = append(x.ReqHeader, trace.Field{Name: f.name, Value: f.value})
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
	}
	id := func(i int) string { return *out.records[i].TenantID }
	if id(0) != id(1) || id(0) != id(2) || id(0) == id(3) || out.records[4].TenantID != nil {
		t.Errorf("tenants: want one for a key however it is sent, another for another, none without")
	}
}
