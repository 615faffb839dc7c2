package fault

import (
	"errors"
	"net/http"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// promptText is a text of a prompt that can be changed.
type promptText struct {
	role trace.Role
	text string
	node *node
}

// changePrompt changes the prompt of a request; change reports whether it did.
// texts are the prompt's in their order, body is the whole request.
func changePrompt(change func(c *call, body *node, texts []promptText) bool) action {
	return func(c *call, next sender) (*http.Response, error) {
		raw, err := c.readRequest()
		if err != nil && !errors.Is(err, errTooLong) {
			return nil, err
		}
		body, bad := parseJSON(raw)
		if err != nil || bad != nil {
			return next() // not what a prompt is written in: it passes as it is
		}
		if change(c, body, texts(c.x.Kind, raw, body)) {
			c.changeRequest(body.append(nil))
		}
		return next()
	}
}

// texts finds the texts that llmwire sees in a request among its strings: both
// go through it from front to back.
func texts(kind trace.APIKind, raw []byte, body *node) []promptText {
	var seen []promptText
	_ = llmwire.VisitText(kind, raw, func(role trace.Role, text []byte) { // what comes before an error is text too
		seen = append(seen, promptText{role: role, text: string(text)})
	})
	at := 0
	body.leaves(func(n *node) {
		if at == len(seen) {
			return
		}
		if text, ok := n.text(); ok && text == seen[at].text {
			seen[at].node = n
			at++
		}
	})
	return seen[:at]
}

// lastOfUser is the last text that the user wrote, else the last one; nil = no
// text.
func lastOfUser(texts []promptText) *promptText {
	var found *promptText
	for i := range texts {
		t := &texts[i]
		if t.text != "" && (found == nil || t.role != trace.RoleSystem && t.role != trace.RoleAssistant && t.role != trace.RoleTool) {
			found = t
		}
	}
	return found
}
