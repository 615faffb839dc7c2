package replayer

import "github.com/lambdac/lambdac/trace"

// Ids that mean an ordinary token in every vocabulary of today's models: those
// of bytes and marks are below the first, and the smallest vocabularies (Llama
// 2's) have 32,000.
const (
	firstID = 1_000
	idRange = 28_000
)

// inIDs reports whether a prompt goes as ids of tokens.
func (p *prompter) inIDs(r *trace.Record) bool {
	return p.ids && r.APIKind == trace.KindOpenAICompletions && recordedTexts(r) == nil
}

// writeIDs is [prompter.write] in ids of tokens: equal blocks give equal ids.
func writeIDs(r *trace.Record, segs []segment) (prompts [][]int32, total int64) {
	for _, s := range segs {
		total += s.words
	}
	all := make([]int32, 0, total)
	for _, s := range segs {
		state := s.seed
		for range s.words {
			state += 0x9e3779b97f4a7c15
			all = append(all, firstID+int32(scramble(state)%idRange))
		}
	}
	from := int64(0)
	for _, end := range messageEnds(r, segs, total) {
		prompts = append(prompts, all[from:end])
		from = end
	}
	return prompts, total
}
