package llmwire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// cases.md 10
func TestToolCalls(t *testing.T) {
	piece := func(members, args string) string {
		return delta(`"tool_calls":[{` + members + `"type":"function","function":{"name":"find","arguments":"` + args + `"}}]`)
	}
	q := []string{`{\"q\":\"a\"}`, `{\"q\":\"b\"}`, `{\"q\":\"c\"}`}
	for _, tt := range []struct {
		name   string
		events []string
		want   []string
	}{
		{
			"no index",
			[]string{piece(`"id":"t1",`, q[0]), piece(`"id":"t2",`, q[1]), piece(`"id":"t3",`, q[2])},
			[]string{`{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`},
		},
		{
			"all with index 0",
			[]string{piece(`"index":0,"id":"t1",`, q[0]), piece(`"index":0,"id":"t2",`, q[1]), piece(`"index":0,"id":"t3",`, q[2])},
			[]string{`{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`},
		},
		{
			"plain OpenAI",
			[]string{
				piece(`"index":0,"id":"t1",`, ""),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]`),
			},
			[]string{`{"q":"a"}`},
		},
		{
			"two calls in turns",
			[]string{
				piece(`"index":0,"id":"t1",`, "{"), piece(`"index":1,"id":"t2",`, "["),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"]"}}]`),
			},
			[]string{"{}", "[]"},
		},
		{
			"id with every piece",
			[]string{piece(`"id":"t1",`, "{"), piece(`"id":"t1",`, "}"), piece(`"id":"t2",`, "{}")},
			[]string{"{}", "{}"},
		},
		{
			"no ids",
			[]string{piece(`"index":0,`, "{"), delta(`"tool_calls":[{"index":0,"function":{"arguments":"}"}}]`), piece(`"index":1,`, "[]")},
			[]string{"{}", "[]"},
		},
		{ // as llama-cpp-python streams
			"each piece in both forms",
			[]string{
				delta(`"role":null,"content":null,"function_call":{"name":"f","arguments":"{"},"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"{"}}]`),
				delta(`"function_call":{"name":"f","arguments":"}"},"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"}"}}]`),
			},
			[]string{"{}"},
		},
		{
			"the older form alone",
			[]string{delta(`"function_call":{"name":"f","arguments":"{"},"tool_calls":null`), delta(`"function_call":{"arguments":"}"}`)},
			[]string{"{}"},
		},
		{
			"no mark at all",
			[]string{piece(``, "{"), delta(`"tool_calls":[{"function":{"arguments":"}"}}]`)},
			[]string{"{}"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := stream(trace.KindOpenAIChat, tt.events...)
			var got []string
			for i, text := range fill(a).Answer {
				if text.Kind != trace.ChunkToolArgs || text.Tool != int32(i) {
					t.Errorf("text %d: kind %s, tool %d", i, text.Kind, text.Tool)
				}
				got = append(got, string(text.Text))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
