package replayer

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Prompts of completions go as ids: as many as tokens were recorded, equal where
// the trace says that prompts are. Chats stay text.
func TestTokenIDs(t *testing.T) {
	tr := chatTrace(0, 0)
	tr.Records = chainTrace(2, 2, 4)
	for _, r := range tr.Records[:3] {
		r.APIKind, r.Messages, r.Stream = trace.KindOpenAICompletions, []trace.Message{{Role: trace.RolePrompt, Bytes: int32(contentBytes(r))}}, false
	}
	s := &stub{answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"text_completion","choices":[{"index":0,"text":"a","finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	}}
	cfg := one(1, 4*time.Second)
	cfg.TokenIDs, cfg.Sessions = true, SessionsStrict
	virtual(t, s, cfg, tr, func(t *testing.T, res *Result, out *memory, err error) {
		if err != nil || len(s.bodies) != 4 {
			t.Fatal(err, len(s.bodies))
		}
		var prompts [][]int32
		for i, r := range tr.Records[:3] {
			var body struct{ Prompt []int32 }
			if err := json.Unmarshal([]byte(s.bodies[i]), &body); err != nil {
				t.Fatal(err)
			}
			if int64(len(body.Prompt)) != *r.InputTokens || slices.Min(body.Prompt) < firstID || slices.Max(body.Prompt) >= firstID+idRange {
				t.Errorf("prompt %d: %d ids from %d to %d, %d tokens recorded", i, len(body.Prompt), slices.Min(body.Prompt), slices.Max(body.Prompt), *r.InputTokens)
			}
			prompts = append(prompts, body.Prompt)
		}
		if turn := prompts[1]; !slices.Equal(turn[:150], prompts[0][:150]) || slices.Equal(prompts[2][160:180], prompts[0][160:180]) {
			t.Error("prefixes are not shared as recorded")
		}
		if promptWords(s.bodies[3]) == 0 {
			t.Errorf("a chat without text: %.80s", s.bodies[3])
		}
		if r := out.byStart()[0]; r.Messages != nil || *r.MessageCount != 1 {
			t.Errorf("messages %v of %v: the size of ids is not known", r.Messages, *r.MessageCount)
		}
	})
}
