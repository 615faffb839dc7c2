package sim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// wireTool is a tool that a request offers: OpenAI's form has the name one
// level down.
type wireTool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

func (t *wireTool) name() string { return t.Name + t.Function.Name }

// mustCall returns the name of the tool that the request's tool_choice demands,
// the first one where any will do; "" = an answer in words.
func (q *wireRequest) mustCall() string {
	if len(q.Tools) == 0 {
		return ""
	}
	var word string
	if json.Unmarshal(q.ToolChoice, &word) == nil {
		if word == "required" {
			return q.Tools[0].name()
		}
		return ""
	}
	var one struct {
		Type string `json:"type"`
		wireTool
	}
	switch err := json.Unmarshal(q.ToolChoice, &one); {
	case err != nil:
		return ""
	case one.Type == "any":
		return q.Tools[0].name()
	}
	return one.name()
}

// The arguments of a call are one text of the answer's words. Parts of them
// stand in JSON strings.
const (
	argumentsBegin = `{\"text\":\"`
	argumentsEnd   = `\"}`
)

// toolWire is [chatWire] for an answer that calls a tool.
func toolWire(name string, id uint64) *wireFormat {
	quoted, err := json.Marshal(name)
	if err != nil {
		quoted = []byte(`""`)
	}
	call := fmt.Sprintf(`"id":"call_%08x","type":"function","function":{"name":%s,"arguments":"`, uint32(id), quoted)
	const unfinished = `},"logprobs":null,"finish_reason":null}`
	w := chatWire
	w.head = `{"index":0,"delta":{"tool_calls":[{"index":0,` + call + `"}}]` + unfinished
	w.before, w.after = `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"`, `"}}]`+unfinished
	w.begin, w.end, w.reason = argumentsBegin, argumentsEnd, "tool_calls"
	w.whole = `{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{` + strings.ReplaceAll(call, "%", "%%") + `%s"}}]},"logprobs":null,"finish_reason":%q}`
	return &w
}
