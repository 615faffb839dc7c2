package llmwire

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestBuild(t *testing.T) {
	for _, tt := range []struct {
		name       string
		spec       Spec
		path, body string
	}{
		{
			"chat",
			Spec{
				Kind: trace.KindOpenAIChat, Model: "m", Stream: true, IncludeUsage: true, MaxTokens: new(int32(5)), N: new(int32(2)),
				Seed: new(int64(-1)), Temperature: new(0.5), TopP: new(1.0), IgnoreEOS: true,
				Messages: []Message{{trace.RoleSystem, "be\n"}, {trace.RoleUser, `say "x"`}, {trace.RoleAssistant, "x"}, {trace.RoleTool, "1"}, {trace.RoleUnknown, ""}},
			},
			"/v1/chat/completions",
			`{"model":"m","messages":[{"role":"system","content":"be\n"},{"role":"user","content":"say \"x\""},{"role":"assistant","content":"x"},` +
				`{"role":"user","content":"1"},{"role":"user","content":""}],"stream":true,"stream_options":{"include_usage":true},` +
				`"max_tokens":5,"n":2,"seed":-1,"temperature":0.5,"top_p":1,"ignore_eos":true}`,
		},
		{
			"chat, least",
			Spec{Kind: trace.KindOpenAIChat, IncludeUsage: true},
			"/v1/chat/completions", `{"messages":[]}`,
		},
		{
			"prompt",
			Spec{Kind: trace.KindOpenAICompletions, Model: "m", Messages: []Message{{trace.RolePrompt, "a"}}, Stream: true},
			"/v1/completions", `{"model":"m","prompt":"a","stream":true}`,
		},
		{
			"prompts",
			Spec{Kind: trace.KindOpenAICompletions, Messages: []Message{{trace.RolePrompt, "a"}, {trace.RolePrompt, "b"}}},
			"/v1/completions", `{"prompt":["a","b"]}`,
		},
		{
			"prompt of ids",
			Spec{Kind: trace.KindOpenAICompletions, Model: "m", PromptIDs: [][]int32{{1, 20, 300}}},
			"/v1/completions", `{"model":"m","prompt":[1,20,300]}`,
		},
		{
			"prompts of ids",
			Spec{Kind: trace.KindOpenAICompletions, PromptIDs: [][]int32{{1}, {2, 3}}},
			"/v1/completions", `{"prompt":[[1],[2,3]]}`,
		},
		{
			"inputs; sampling is not sent",
			Spec{Kind: trace.KindOpenAIEmbeddings, Model: "e", Messages: []Message{{Text: "a"}, {Text: "\xff"}}, MaxTokens: new(int32(1)), Stream: true},
			"/v1/embeddings", `{"model":"e","input":["a","` + "\ufffd" + `"]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, body, err := Build(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.path+" "+tt.body, path+" "+string(body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := Recognize("POST", path, body); got != tt.spec.Kind {
				t.Errorf("recognized as %s", got)
			}
		})
	}
}

func TestBuildErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{"unknown kind", Spec{Kind: "x.y"}, `"x.y"`},
		{"no kind", Spec{}, `""`},
		{"NaN", Spec{Kind: trace.KindOpenAIChat, Temperature: new(math.NaN())}, "not finite"},
		{"Inf", Spec{Kind: trace.KindOpenAIChat, TopP: new(math.Inf(1))}, "not finite"},
	} {
		if _, _, err := Build(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v does not say %q", tt.name, err, tt.want)
		}
	}
}

// What is built is read again.
func FuzzBuild(f *testing.F) {
	f.Add(uint8(0), "m", "a", "b", int32(1), 0.5)
	f.Add(uint8(1), "", "\"\\\u2028", "\xff", int32(0), -1.0)
	f.Add(uint8(2), "<m>", "", "b", int32(-1), 1e300)
	for i := range families {
		f.Add(uint8(i), "a/b:c%", "say \n", "x", int32(7), 0.5)
	}
	f.Fuzz(func(t *testing.T, which uint8, model, a, b string, limit int32, temperature float64) {
		kind := families[int(which)%len(families)].kind
		path, body, err := Build(Spec{
			Kind: kind, Model: model, Messages: []Message{{trace.RoleUser, a}, {trace.RoleAssistant, b}}, MaxTokens: &limit, Temperature: &temperature,
		})
		if math.IsNaN(temperature) || math.IsInf(temperature, 0) {
			if err == nil {
				t.Error("no error")
			}
			return
		}
		if model == "" && err != nil {
			return // it stands in the path
		}
		if err != nil {
			t.Fatal(err)
		}
		var rec trace.Record
		var said trace.Said
		path, _, _ = strings.Cut(path, "?")
		if err := ParseRequest(kind, path, body, &rec, &said); err != nil {
			t.Fatal(err)
		}
		// One model a server needs no name, and "models/m" is Google's for "m".
		if got, want := valid(said.RequestModel), strings.TrimPrefix(valid(model), "models/"); got != "" && strings.TrimPrefix(got, "models/") != want {
			t.Errorf("model %q, want %q", got, want)
		}
		var texts []string
		if err := VisitText(kind, body, func(_ trace.Role, text []byte) { texts = append(texts, string(text)) }); err != nil {
			t.Fatal(err)
		}
		// Where there is one prompt, the texts are its lines.
		if got, want := strings.Join(texts, ""), valid(a)+valid(b); got != want && got != valid(a)+"\n"+valid(b) {
			t.Errorf("texts %q, want %q", got, want)
		}
	})
}

// valid replaces each byte that is no UTF-8, as JSON encoders do.
func valid(s string) string { return string([]rune(s)) }

// TestBuildRoundTrip: of every family, streamed and not, what is built is
// recognised and read again as it was meant.
func TestBuildRoundTrip(t *testing.T) {
	// What a family's API has no member for, or no streams.
	lacks := map[trace.APIKind]string{
		trace.KindOpenAIEmbeddings:   "stream max n seed temperature top_p",
		trace.KindOpenAIResponses:    "n seed",
		trace.KindAnthropicMessages:  "n seed",
		trace.KindOllamaChat:         "n",
		trace.KindOllamaGenerate:     "n",
		trace.KindTGIGenerate:        "model n",
		trace.KindTritonGenerate:     "n",
		trace.KindSGLangGenerate:     "model seed",
		trace.KindLlamaCppCompletion: "model n",
		trace.KindBedrockConverse:    "n seed",
		trace.KindBedrockInvoke:      "n seed",
		trace.KindCohereChat:         "n",
	}
	for _, f := range families {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(f.kind, " ", stream), func(t *testing.T) {
				spec := Spec{
					Kind: f.kind, Model: "vendor/model-1", Stream: stream, IncludeUsage: true,
					Messages:  []Message{{trace.RoleSystem, "be brief"}, {trace.RoleUser, "say \"x\"\n"}},
					MaxTokens: new(int32(7)), N: new(int32(2)), Seed: new(int64(3)), Temperature: new(0.5), TopP: new(0.25),
				}
				path, body, err := Build(spec)
				if err != nil {
					t.Fatal(err)
				}
				path, _, _ = strings.Cut(path, "?")
				if got := Recognize("POST", path, body); got != f.kind {
					t.Fatalf("recognised as %s", got)
				}
				var rec trace.Record
				var said trace.Said
				if err := ParseRequest(f.kind, path, body, &rec, &said); err != nil {
					t.Fatal(err)
				}
				lack := strings.Fields(lacks[f.kind])
				for _, c := range []struct{ name, got, want, without string }{
					{"model", said.RequestModel, spec.Model, ""},
					{"stream", fmt.Sprint(rec.Stream), fmt.Sprint(stream), "false"},
					{"max", show(rec.MaxTokens), "7", "-"},
					{"n", show(rec.N), "2", "-"},
					{"seed", show(rec.Seed), "3", "-"},
					{"temperature", show(rec.Temperature), "0.5", "-"},
					{"top_p", show(rec.TopP), "0.25", "-"},
				} {
					if slices.Contains(lack, c.name) {
						c.want = c.without
					}
					if c.got != c.want {
						t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
					}
				}
				var text strings.Builder
				if err := VisitText(f.kind, body, func(_ trace.Role, b []byte) { text.Write(b) }); err != nil {
					t.Fatal(err)
				}
				if got := strings.ReplaceAll(text.String(), "\n", ""); got != `be briefsay "x"` {
					t.Errorf("texts %q", got)
				}
			})
		}
	}
}
