package sanitizer

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/lambdac/lambdac/trace"
)

// features takes the numbers that need the answer's text but no tokenizer.
// Reason is what holds if no token is counted.
func features(x *trace.Exchange) *trace.Features {
	f := &trace.Features{RequestID: x.Record.RequestID}
	reason := trace.FeatureSampled
	switch {
	case x.Record.APIKind == trace.KindOther, x.Record.APIKind == trace.KindOpenAIEmbeddings, x.Record.APIKind == "":
		reason = trace.FeatureOpaque
	case !x.Record.RespComplete || x.RespBodyCut > 0:
		reason = trace.FeatureBodyDropped
	case len(generated(x.Answer)) == 0:
		reason = trace.FeatureOpaque
	}
	f.Reason = &reason
	if len(x.Answer) == 0 {
		if declined(x.Said.FinishReasons) {
			f.Refusal = new(true)
		}
		return f
	}
	f.Refusal = new(declined(x.Said.FinishReasons) || slices.ContainsFunc(x.Answer, refuses))
	if x.Said.JSONAsked && x.Record.Outcome == trace.OutcomeOK && reason != trace.FeatureBodyDropped {
		f.FormatValid = formatValid(x.Answer)
	}
	return f
}

// declined reports a finish reason by which the service itself says that it
// declined.
func declined(reasons []string) bool {
	return slices.ContainsFunc(reasons, func(r string) bool {
		switch r {
		case "content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII",
			"content_filtered", "guardrail_intervened", "ERROR_TOXIC":
			return true
		}
		return false
	})
}

// refuses reports a refusal: a field of the API, or an answer that opens like
// one.
func refuses(t trace.AnswerText) bool {
	switch t.Kind {
	case trace.ChunkRefusal:
		return len(t.Text) > 0
	case trace.ChunkText:
		return opensRefusal(t.Text)
	default:
		return false
	}
}

// formatValid reports whether the text of each choice is one JSON text; nil
// where there is none.
func formatValid(answer []trace.AnswerText) *bool {
	var valid *bool
	for _, t := range answer {
		if t.Kind != trace.ChunkText {
			continue
		}
		ok := json.Valid(t.Text)
		if valid != nil {
			ok = ok && *valid
		}
		valid = &ok
	}
	return valid
}

// openingBytes is how much of an answer is looked at for a refusal.
const openingBytes = 160

// opensRefusal reports an answer that opens with a template of a refusal. The
// templates are those with which instruction-tuned models decline in six
// languages; a refusal in other words is missed, and "I'm sorry" alone is none.
func opensRefusal(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n*#\"'>“")
	text = bytes.ToLower(text[:min(len(text), openingBytes)])
	text = bytes.ReplaceAll(text, []byte("’"), []byte("'"))
	for _, sorry := range apologies {
		if rest, ok := bytes.CutPrefix(text, []byte(sorry)); ok {
			text = bytes.TrimLeft(rest, " ,.!;:—-，。、")
			break
		}
	}
	for _, opening := range refusalOpenings {
		if bytes.HasPrefix(text, []byte(opening)) {
			return true
		}
	}
	return false
}

// apologies may stand before a refusal.
var apologies = [...]string{
	"i'm sorry, but", "i'm sorry but", "i'm sorry", "i am sorry, but", "i am sorry", "sorry, but", "sorry",
	"i apologize, but", "i apologize", "unfortunately", "as an ai language model", "as an ai", "as a language model",
	"es tut mir leid, aber", "es tut mir leid", "tut mir leid, aber", "tut mir leid",
	"je suis désolé, mais", "je suis désolé", "désolé, mais", "désolé",
	"lo siento, pero", "lo siento", "me desculpe, mas", "desculpe, mas", "desculpe",
	"很抱歉", "抱歉", "对不起", "申し訳ありませんが", "申し訳ございませんが",
}

// refusalOpenings are in lower case.
var refusalOpenings = [...]string{
	"i can't help", "i cannot help", "i can't assist", "i cannot assist", "i'm unable to", "i am unable to",
	"i'm not able to", "i am not able to", "i can't provide", "i cannot provide", "i can't comply",
	"i cannot comply", "i can't fulfill", "i cannot fulfill", "i won't", "i will not", "i must decline",
	"i have to decline", "i can't create", "i cannot create", "i can't generate", "i cannot generate",
	"i can't do that", "i cannot do that", "i can't discuss", "i cannot discuss", "i can't engage", "i cannot engage",
	"i can't answer", "i cannot answer", "i can't support", "i cannot support", "i can't share", "i cannot share",
	"i don't feel comfortable", "this request violates", "your request violates",
	"ich kann dabei nicht", "ich kann dir dabei nicht", "ich kann ihnen dabei nicht", "dabei kann ich nicht",
	"dabei kann ich dir nicht", "dabei kann ich ihnen nicht", "das kann ich nicht",
	"je ne peux pas", "je ne suis pas en mesure", "je ne suis pas capable",
	"no puedo ayudar", "no puedo proporcionar", "no puedo cumplir", "no puedo asistir",
	"não posso ajudar", "não posso fornecer", "não posso atender",
	"我无法", "我不能", "無法", "お手伝いできません", "お答えできません",
}
