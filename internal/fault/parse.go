package fault

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// Parse makes a fault of the members of a YAML or JSON mapping:
//
//	{name: slow-tool, layer: integration, type: delay, delay: 500ms,
//	 jitter: 100ms, share: 5%, window: {from: 2m, for: 1m},
//	 target: {kind: openai.chat, path: /v1/*, model: m, sessions: 20%}}
//
// Only type is needed, and layer where two have a fault of that type; name is
// the type where it is left out. Values are text, numbers and mappings as
// decoders make them. Every error is an [*Error] that names the field.
func Parse(members map[string]any) (Spec, error) {
	p := parser{left: maps.Clone(members)}
	s := p.spec()
	if p.err != nil {
		p.err.Name = s.Name
		return Spec{}, p.err
	}
	return s, nil
}

// ParseFlag makes a fault of one line: the type, or layer.type, and then
// members as key=value between commas. Those of window and target stand by
// their own names:
//
//	integration.delay,share=5%,delay=500ms,from=10s,for=20s,kind=openai.chat
func ParseFlag(text string) (Spec, error) {
	parts := strings.Split(text, ",")
	members := map[string]any{}
	window, target := map[string]any{}, map[string]any{}
	layer, kind, qualified := strings.Cut(strings.TrimSpace(parts[0]), ".")
	if !qualified {
		layer, kind = "", layer
	}
	members["type"] = kind
	if layer != "" {
		members["layer"] = layer
	}
	for _, part := range parts[1:] {
		key, text, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return Spec{}, &Error{Message: fmt.Sprintf("%s is no key=value", quoteAny(part)), Hint: "write it as delay,share=5%,delay=500ms,from=10s,for=20s"}
		}
		into := members
		switch fold(key) {
		case "from", "for":
			into = window
		case "kind", "path", "model", "sessions":
			into = target
		}
		if _, twice := into[key]; twice {
			return Spec{}, &Error{Message: fmt.Sprintf("%s is given twice", quoteAny(key)), Hint: "leave one out"}
		}
		into[key] = strings.TrimSpace(text)
	}
	if len(window) > 0 {
		members["window"] = window
	}
	if len(target) > 0 {
		members["target"] = target
	}
	return Parse(members)
}

// parser takes members one by one; what is left over at the end is unknown.
type parser struct {
	left map[string]any
	at   string // path of the mapping in hand, with its dot
	err  *Error // the first
}

func (p *parser) fail(field, hint, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{Field: strings.TrimSuffix(p.at+field, "."), Message: fmt.Sprintf(format, args...), Hint: hint}
	}
}

// take removes a member, whatever way its name is written; nil = it is not there.
func (p *parser) take(name string) any {
	var found any
	for key, v := range p.left {
		if fold(key) != fold(name) {
			continue
		}
		if found != nil {
			p.fail(key, "leave one out", "given twice")
		}
		delete(p.left, key)
		if found = v; v == nil {
			p.fail(key, "give it a value, or leave it out", "has no value")
		}
	}
	return found
}

func (p *parser) word(name string) string {
	v := p.take(name)
	if v == nil {
		return ""
	}
	text, ok := v.(string)
	if !ok || text == "" {
		p.fail(name, "give it as text", "%s is no word", quoteAny(v))
	}
	return text
}

// within parses a member that is a mapping.
func (p *parser) within(name string, parse func(*parser)) {
	v := p.take(name)
	if v == nil {
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		p.fail(name, "write it as {key: value, …}", "%s is no mapping", quoteAny(v))
		return
	}
	sub := parser{left: maps.Clone(m), at: p.at + name + "."}
	parse(&sub)
	if p.err == nil {
		p.err = sub.err
	}
}

func (p *parser) spec() Spec {
	s := Spec{Name: p.word("name"), Share: 1, params: map[string]value{}}
	k := p.kind()
	if k == nil {
		return s
	}
	s.Layer, s.Type = k.layer, k.name
	if s.Name == "" {
		s.Name = s.Type
	}
	if v := p.take("share"); v != nil {
		s.Share = p.share("share", v)
	}
	for i := range k.params {
		p.param(&s, &k.params[i])
	}
	s.Window.For = k.lasts
	p.within("window", func(sub *parser) { sub.window(&s.Window) })
	p.within("target", func(sub *parser) { sub.target(&s.Target) })
	names := []string{"name", "layer", "type", "share", "window", "target"}
	for i := range k.params {
		names = append(names, k.params[i].name)
	}
	p.done(names)
	p.checkName(s.Name)
	return s
}

// maxName bounds a name: it stands in every record that the fault changes.
const maxName = 64

func (p *parser) checkName(name string) {
	if len(name) > maxName || strings.ContainsAny(name, "\x00\n\r\t,") {
		p.fail("name", "use letters, digits and -", "%s is longer than %d bytes or holds a comma or a control character", quoteAny(name), maxName)
	}
}

// kind finds the row of the table.
func (p *parser) kind() *kind {
	layer, name := p.word("layer"), p.word("type")
	if p.err != nil {
		return nil
	}
	if layer != "" && !slices.Contains(layerNames(), layer) {
		p.fail("layer", suggest(layer, layerNames()), "unknown layer %s", quoteAny(layer))
		return nil
	}
	if name == "" {
		p.fail("type", "say what it does: "+suggest("", typeNames(layer)), "the fault has no type")
		return nil
	}
	var found []*kind
	var labels []string
	for i := range table {
		if k := &table[i]; fold(k.name) == fold(name) && (layer == "" || string(k.layer) == layer) {
			found, labels = append(found, k), append(labels, k.label())
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		p.fail("type", "say which: "+strings.Join(labels, " or "), "%s is a fault of %d layers", quoteAny(name), len(found))
	case layer != "":
		p.fail("type", suggest(name, typeNames(layer)), "unknown fault %s of layer %s", quoteAny(name), layer)
	default:
		p.fail("type", suggest(name, typeNames("")), "unknown fault %s", quoteAny(name))
	}
	return nil
}

func layerNames() (names []string) {
	for _, l := range Layers {
		names = append(names, string(l))
	}
	return names
}

// typeNames are the faults of a layer; of all layers where none is given.
func typeNames(layer string) (names []string) {
	for i := range table {
		if k := &table[i]; layer == "" || string(k.layer) == layer {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *parser) param(s *Spec, row *param) {
	v := p.take(row.name)
	if v == nil {
		if row.def == "" {
			p.fail(row.name, "give it a "+row.unit.what(), "%s.%s needs it", s.Layer, s.Type)
			return
		}
		s.params[row.name] = row.zero()
		return
	}
	parsed, err := row.parse(v)
	if err != nil {
		p.fail(row.name, row.about, "%v", err)
		return
	}
	s.params[row.name] = parsed
}

// share reads a share above 0.
func (p *parser) share(name string, v any) float64 {
	n, err := unitShare.parse(v)
	if err != nil {
		p.fail(name, "give a share such as 5%", "%v", err)
	} else if n == 0 {
		p.fail(name, "give a share above 0, or leave the fault out", "none is chosen")
	}
	return n
}

func (p *parser) duration(name string) (d time.Duration, given bool) {
	v := p.take(name)
	if v == nil {
		return 0, false
	}
	n, err := unitDuration.parse(v)
	if err != nil {
		p.fail(name, "give a duration such as 30s", "%v", err)
	}
	return time.Duration(n), true
}

func (p *parser) window(w *Window) {
	w.From, _ = p.duration("from")
	if d, given := p.duration("for"); given {
		if w.For = d; d == 0 {
			p.fail("for", "give a duration such as 30s, or leave it out for all that remains", "the window is empty")
		}
	}
	p.done([]string{"from", "for"})
}

func (p *parser) target(t *Target) {
	t.APIKind, t.Path, t.Model = trace.APIKind(p.word("kind")), p.word("path"), p.word("model")
	if t.APIKind != "" && !slices.Contains(llmwire.Kinds(), string(t.APIKind)) {
		p.fail("kind", "use a name of lambdac show, such as openai.chat", "unknown api kind %s", quoteAny(t.APIKind))
	}
	if _, err := path.Match(t.Path, ""); err != nil || t.Path != "" && !strings.HasPrefix(t.Path, "/") {
		p.fail("path", "write it as /v1/*/completions", "%s is no pattern of a path", quoteAny(t.Path))
	}
	if v := p.take("sessions"); v != nil {
		t.Sessions = p.share("sessions", v)
	}
	p.done([]string{"kind", "path", "model", "sessions"})
}

// done fails on what no one has taken.
func (p *parser) done(names []string) {
	for _, key := range slices.Sorted(maps.Keys(p.left)) {
		if strings.Trim(fold(key), "abcdefghijklmnopqrstuvwxyz0123456789") != "" || len(key) > maxName {
			p.fail("", suggest("", names), "unknown key %s", quoteAny(key))
		}
		p.fail(key, suggest(key, names), "unknown key")
	}
}
