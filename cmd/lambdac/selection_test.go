package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

func TestSelection(t *testing.T) {
	record := func(id string, kind trace.APIKind, model *string, in *int64, stream bool) *trace.Record {
		r := &trace.Record{}
		r.RequestID, r.APIKind, r.RequestModel, r.InputTokens, r.Stream = id, kind, model, in, stream
		return r
	}
	records := []*trace.Record{
		record("a", trace.KindOpenAIChat, new("m and n"), new(int64(10)), true),
		record("b", trace.KindOpenAIChat, new("k"), nil, false),
		record("c", trace.KindOpenAIEmbeddings, nil, new(int64(20)), false),
	}
	for text, want := range map[string]string{
		"":                                     "a b c",
		"  ":                                   "a b c",
		"api_kind = 'openai.chat'":             "a b",
		"api_kind!='openai.chat'":              "c",
		"request_model = 'm and n'":            "a",
		`request_model != "m and n"`:           "b", // one that is not known meets nothing
		"input_tokens < 20":                    "a",
		"input_tokens<=20":                     "a c",
		"input_tokens > 10 and stream = false": "c",
		"api_kind = openai.chat AND stream=false": "b",
		"input_tokens != 10":                      "c",
	} {
		s, err := parseSelection(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, r := range s.keep(records) {
			got = append(got, r.RequestID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q keeps %v, want %s", text, got, want)
		}
	}
	if !slices.Equal([]string{records[0].RequestID, records[1].RequestID, records[2].RequestID}, []string{"a", "b", "c"}) {
		t.Error("keep changed its argument")
	}
}

func TestSelectionRefused(t *testing.T) {
	for text, want := range map[string]string{
		"prompt = 'x'":               `unknown column "prompt": want one of api_kind, `,
		"stream":                     "want COLUMN = 'VALUE'",
		"stream is true":             "stream is compared with nothing: want one of <=",
		"stream = ":                  "a value is missing",
		"api_kind = 'x":              "' opens a value that does not end",
		"input_tokens = many":        `input_tokens is compared with "many": want a number`,
		"api_kind < 'x'":             "api_kind is a word: compare it with = or !=",
		"stream = true or n = 1":     `"or" after a condition: want and`,
		"stream = true and ":         `"and" after a condition: want and, and another`,
		"stream = true and and = 'x": `unknown column "and"`,
	} {
		if _, err := parseSelection(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", text, err, want)
		}
	}
}

// FuzzSelection: whatever is asked for, it is a selection or refused.
func FuzzSelection(f *testing.F) {
	for _, text := range []string{"", "api_kind = 'openai.chat' and stream = true", "input_tokens<", "'", "and", "status_code >= 1e999", "outcome != \"\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSelection(text); err == nil {
			s.keep([]*trace.Record{{}})
		}
	})
}
