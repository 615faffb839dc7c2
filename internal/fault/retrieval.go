package fault

import (
	"errors"
	"net/http"
)

// What stores are asked and answer is JSON, and a rule says where in it to look.
// The first rule of a path that finds something to change is the one: all of
// them are about the same query or the same hits.

// byRule lets the rules of the request change a document, until one does.
func (c *call) byRule(root *node, change func(r *rule, root *node) bool) bool {
	for _, r := range c.in.rules.of(c.req) {
		if change(r, root) {
			return true
		}
	}
	return false
}

// changeQuery changes what a store is asked; change reports whether it did.
func changeQuery(change func(c *call, r *rule, query *node) bool) action {
	return func(c *call, next sender) (*http.Response, error) {
		if len(c.in.rules.of(c.req)) == 0 {
			return next()
		}
		body, err := c.readRequest()
		if err != nil && !errors.Is(err, errTooLong) {
			return nil, err
		}
		query, bad := parseJSON(body)
		if err == nil && bad == nil && c.byRule(query, func(r *rule, n *node) bool { return change(c, r, n) }) {
			c.changeRequest(query.append(nil))
		}
		return next()
	}
}

// changeAnswer changes what a store answers; change reports whether it did. What
// is not JSON passes as it is.
func (c *call) changeAnswer(next sender, change func(r *rule, answer *node) bool) (*http.Response, error) {
	if len(c.in.rules.of(c.req)) == 0 {
		return next()
	}
	c.plainly()
	resp, err := next()
	if err != nil {
		return resp, err
	}
	body, ok := readAnswer(resp)
	if !ok {
		return resp, nil
	}
	answer, bad := parseJSON(body)
	if bad == nil && c.byRule(answer, change) {
		c.acted()
		putAnswer(resp, answer.append(nil))
	}
	return resp, nil
}
