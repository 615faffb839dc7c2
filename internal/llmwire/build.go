package llmwire

import (
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// Message is one message of a request to be built.
type Message struct {
	Role trace.Role
	Text string
}

// Spec says what request to build. nil = leave it to the service.
type Spec struct {
	Kind trace.APIKind
	// Model is sent as it is; empty = none.
	Model string
	// Messages are chat messages, prompts or inputs, by kind.
	Messages []Message
	// PromptIDs are the prompts as ids of tokens, in place of Messages. Only
	// /v1/completions takes them.
	PromptIDs [][]int32
	Stream    bool
	// IncludeUsage asks for the usage of a stream.
	IncludeUsage bool
	MaxTokens    *int32
	N            *int32
	Seed         *int64
	Temperature  *float64
	TopP         *float64
	// IgnoreEOS asks the server to go on to MaxTokens (vLLM, SGLang,
	// llama.cpp): a replay must produce as many tokens as were recorded.
	IgnoreEOS bool
}

// Build returns the path and the JSON body of a request. Members stand in one
// order, so equal Specs give equal bytes. Text that is not UTF-8 is sent with
// U+FFFD. A kind without a family here, and a number that JSON has no form
// for, are errors.
func Build(s Spec) (path string, body []byte, err error) {
	f := find(s.Kind)
	if f == nil {
		return "", nil, fmt.Errorf("build request: no family for api kind %q", s.Kind)
	}
	for _, v := range [...]*float64{s.Temperature, s.TopP} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return "", nil, fmt.Errorf("build %s request: temperature or top_p is not finite", s.Kind)
		}
	}
	size := 256
	for i := range s.Messages {
		size += len(s.Messages[i].Text) + 40
	}
	return f.build(make([]byte, 0, size), &s)
}

func buildChat(dst []byte, s *Spec) (string, []byte, error) {
	dst = appendModel(append(dst, '{'), s)
	dst = append(dst, `"messages":[`...)
	for i, m := range s.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"role":"`...)
		dst = append(dst, chatRoleName(m.Role)...)
		dst = append(dst, `","content":`...)
		dst = append(appendText(dst, m.Text), '}')
	}
	return "/v1/chat/completions", appendSampling(append(dst, ']'), s), nil
}

// chatRoleName returns the role to send. A tool's answer goes as the user's:
// servers refuse one without the call before it, which a replay has no text
// for.
func chatRoleName(r trace.Role) string {
	switch r {
	case trace.RoleSystem, trace.RoleAssistant:
		return r.String()
	default:
		return trace.RoleUser.String()
	}
}

func buildCompletions(dst []byte, s *Spec) (string, []byte, error) {
	dst = appendModel(append(dst, '{'), s)
	dst = append(dst, `"prompt":`...)
	if len(s.PromptIDs) > 0 {
		dst = appendIDs(dst, s.PromptIDs)
	} else {
		dst = appendPrompt(dst, s)
	}
	return "/v1/completions", appendSampling(dst, s), nil
}

func buildEmbeddings(dst []byte, s *Spec) (string, []byte, error) {
	dst = appendModel(append(dst, '{'), s)
	dst = appendPrompt(append(dst, `"input":`...), s)
	return "/v1/embeddings", append(dst, '}'), nil
}

// appendIDs appends one prompt as a list of ids, any other number as a list of
// lists.
func appendIDs(dst []byte, prompts [][]int32) []byte {
	if len(prompts) != 1 {
		dst = append(dst, '[')
	}
	for i, ids := range prompts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		for j, id := range ids {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(id), 10)
		}
		dst = append(dst, ']')
	}
	if len(prompts) != 1 {
		dst = append(dst, ']')
	}
	return dst
}

// appendPrompt appends one text as a string, any other number as a list.
func appendPrompt(dst []byte, s *Spec) []byte {
	if len(s.Messages) == 1 {
		return appendText(dst, s.Messages[0].Text)
	}
	dst = append(dst, '[')
	for i, m := range s.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, m.Text)
	}
	return append(dst, ']')
}

func appendModel(dst []byte, s *Spec) []byte {
	if s.Model == "" {
		return dst
	}
	return append(appendText(append(dst, `"model":`...), s.Model), ',')
}

// appendSampling appends what follows the prompt of chats and completions,
// and the closing brace.
func appendSampling(dst []byte, s *Spec) []byte {
	if s.Stream {
		dst = append(dst, `,"stream":true`...)
		if s.IncludeUsage {
			dst = append(dst, `,"stream_options":{"include_usage":true}`...)
		}
	}
	if s.MaxTokens != nil {
		dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), int64(*s.MaxTokens), 10)
	}
	if s.N != nil {
		dst = strconv.AppendInt(append(dst, `,"n":`...), int64(*s.N), 10)
	}
	if s.Seed != nil {
		dst = strconv.AppendInt(append(dst, `,"seed":`...), *s.Seed, 10)
	}
	if s.Temperature != nil {
		dst = jsontext.AppendFloat(append(dst, `,"temperature":`...), *s.Temperature, 64)
	}
	if s.TopP != nil {
		dst = jsontext.AppendFloat(append(dst, `,"top_p":`...), *s.TopP, 64)
	}
	if s.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	return append(dst, '}')
}

// splitSystem takes the leading system messages apart from the rest. Where
// there is no rest, the last of them is it: services refuse a prompt of system
// messages alone.
func (s *Spec) splitSystem() (system, rest []Message) {
	n := 0
	for n < len(s.Messages)-1 && s.Messages[n].Role == trace.RoleSystem {
		n++
	}
	return s.Messages[:n], s.Messages[n:]
}

// roleName returns the role to send where there are but two.
func roleName(r trace.Role, assistant string) string {
	if r == trace.RoleAssistant {
		return assistant
	}
	return "user"
}

// appendText appends a JSON string.
func appendText(dst []byte, text string) []byte {
	// The error only says that there was invalid UTF-8; it was replaced.
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
