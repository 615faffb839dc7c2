package llmwire

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// object writes JSON objects, one in another, members in order of the calls.
// What is nil or false is left out.
type object struct{ dst []byte }

// open begins an object, as a member unless the name is empty.
func (o *object) open(name string) {
	o.name(name)
	o.dst = append(o.dst, '{')
}

// list begins a list, as a member unless the name is empty.
func (o *object) list(name string) {
	o.name(name)
	o.dst = append(o.dst, '[')
}

func (o *object) close() { o.dst = append(o.dst, '}') }
func (o *object) end()   { o.dst = append(o.dst, ']') }

func (o *object) name(name string) {
	if n := len(o.dst); n > 0 && o.dst[n-1] != '{' && o.dst[n-1] != '[' {
		o.dst = append(o.dst, ',')
	}
	if name != "" {
		o.dst = append(appendText(o.dst, name), ':')
	}
}

func (o *object) text(name, value string) {
	o.name(name)
	o.dst = appendText(o.dst, value)
}

func (o *object) flag(name string, value bool) {
	if value {
		o.name(name)
		o.dst = append(o.dst, "true"...)
	}
}

func (o *object) integer(name string, value int64) {
	o.name(name)
	o.dst = strconv.AppendInt(o.dst, value, 10)
}

func (o *object) number(name string, value *int32) {
	if value != nil {
		o.integer(name, int64(*value))
	}
}

func (o *object) float(name string, value *float64) {
	if value != nil {
		o.name(name)
		o.dst = jsontext.AppendFloat(o.dst, *value, 64)
	}
}

// model writes the model, if there is one.
func (o *object) model(s *Spec) {
	if s.Model != "" {
		o.text("model", s.Model)
	}
}

// messages writes a list of messages as OpenAI has them.
func (o *object) messages(name string, list []Message, role func(trace.Role) string) {
	o.list(name)
	for _, m := range list {
		o.open("")
		o.text("role", role(m.Role))
		o.text("content", m.Text)
		o.close()
	}
	o.end()
}

// joined makes one prompt of the messages.
func joined(messages []Message) string {
	if len(messages) == 1 {
		return messages[0].Text
	}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.Text)
	}
	return b.String()
}
