package fault

import (
	"fmt"
	"strings"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Layer is where a fault acts.
type Layer string

// The layers, from the prompt to the wire.
const (
	Input       Layer = "input"
	Retrieval   Layer = "retrieval"
	Generation  Layer = "generation"
	Integration Layer = "integration"
	Service     Layer = "service"
	Network     Layer = "network"
)

// Layers lists every layer, in the order in which a request meets them.
var Layers = []Layer{Integration, Service, Input, Retrieval, Generation, Network}

// Spec is one fault, as [Parse] makes it.
type Spec struct {
	// Name is unique among the faults of a run; it is what records and marks
	// call the fault, and part of the choice of exchanges.
	Name  string
	Layer Layer
	// Type is the fault's name in its layer; see [Kinds].
	Type string
	// Share of the exchanges in the window and of the target, above 0 to 1.
	Share  float64
	Window Window
	Target Target

	// params holds a value for each parameter of the kind.
	params map[string]value
}

// Window is when a fault acts: from From, for For. It counts from each level's
// measured start in a replay, from the start in a proxy. For = 0 means to the
// end.
type Window struct {
	From, For time.Duration
}

// Contains reports whether an exchange due at a time is in the window.
func (w Window) Contains(at time.Duration) bool {
	return at >= w.From && (w.For == 0 || at < w.From+w.For)
}

// covers reports whether all of another window is in this one.
func (w Window) covers(o Window) bool {
	return w.From <= o.From && (w.For == 0 || o.For != 0 && o.From+o.For <= w.From+w.For)
}

// Target says which exchanges a fault is for; the zero value is all.
type Target struct {
	// APIKind is the API family; "" = any.
	APIKind trace.APIKind
	// Path is the whole path of a request without its query; a * stands for any
	// one segment or a part of it; "" = any.
	Path string
	// Model is the model asked for; "" = any.
	Model string
	// Sessions is the share of the conversations, above 0 to 1; 0 = all. An
	// exchange that belongs to none is one of its own.
	Sessions float64
}

// label names the fault for people: layer and type.
func (s *Spec) label() string { return string(s.Layer) + "." + s.Type }

// NeedsRules reports whether the fault acts only where a rule finds something.
func (s *Spec) NeedsRules() bool { return s.Layer == Retrieval && s.Type != blackhole.name }

// Stores reports whether the fault changes what a store answers or is asked
// for, which only a proxy in front of one can do.
func (s *Spec) Stores() bool {
	return s.NeedsRules() && s.Type != embeddingDrift.name
}

// Kind is what marks call the fault.
func (s *Spec) Kind() string { return "fault/" + s.label() }

// String is the fault as --fault takes it, with every parameter.
func (s *Spec) String() string {
	var b strings.Builder
	b.WriteString(s.label())
	add := func(key, text string) { fmt.Fprintf(&b, ",%s=%s", key, text) }
	if s.Name != s.Type {
		add("name", s.Name)
	}
	for _, p := range s.kind().params {
		if v := s.params[p.name]; v != p.zero() {
			add(p.name, p.unit.format(v))
		}
	}
	if s.Share != 1 {
		add("share", formatShare(s.Share))
	}
	for _, t := range s.Target.fields() {
		if t.text != "" {
			add(t.key, t.text)
		}
	}
	if s.Window.From != 0 {
		add("from", s.Window.From.String())
	}
	if s.Window.For != 0 {
		add("for", s.Window.For.String())
	}
	return b.String()
}

type keyText struct{ key, text string }

func (t *Target) fields() []keyText {
	sessions := ""
	if t.Sessions != 0 {
		sessions = formatShare(t.Sessions)
	}
	return []keyText{{"kind", string(t.APIKind)}, {"path", t.Path}, {"model", t.Model}, {"sessions", sessions}}
}

func (s *Spec) kind() *kind { return findKind(s.Layer, s.Type) }

func (s *Spec) duration(name string) time.Duration { return time.Duration(s.params[name].num) }
func (s *Spec) number(name string) float64         { return s.params[name].num }
func (s *Spec) count(name string) int              { return int(s.params[name].num) }
func (s *Spec) text(name string) string            { return s.params[name].text }

// CheckTogether returns an error where two of the faults cannot be told apart,
// or one could never be seen because of another; or where there are too many.
func CheckTogether(specs []Spec) error {
	if len(specs) > maxFaults {
		return &Error{Hint: "inject fewer at a time", Message: fmt.Sprintf("%d faults: want at most %d", len(specs), maxFaults)}
	}
	for i := range specs {
		for j := range specs[:i] {
			if err := together(&specs[j], &specs[i]); err != nil {
				err.Index = new(i)
				return err
			}
		}
	}
	return nil
}

// maxFaults bounds the faults of a run: those that are chosen for an exchange
// are a set of bits.
const maxFaults = 64

func together(a, b *Spec) *Error {
	if a.Name == b.Name {
		return &Error{Field: "name", Message: fmt.Sprintf("two faults are named %q", a.Name), Hint: "give each a name of its own"}
	}
	for _, pair := range [][2]*Spec{{a, b}, {b, a}} {
		if over, under := pair[0], pair[1]; over.hides(under) {
			return &Error{
				Name: under.Name, Field: "type",
				Message: fmt.Sprintf("%s cannot be combined with %q (%s): %s, always, and nothing is left to act on", under.label(), over.Name, over.label(), over.kind().leaves(over)),
				Hint:    "give the two different windows or targets, or " + over.Name + " a share below 100%",
			}
		}
	}
	return nil
}

// hides reports whether a fault leaves none of another's exchanges to it.
func (s *Spec) hides(o *Spec) bool {
	k := s.kind()
	all := s.Share == 1 && (s.Target == Target{} || s.Target == o.Target)
	return all && s.Window.covers(o.Window) && k.leaves != nil && k.leaves(s) != "" && k.hidden(k, o.kind())
}

// CheckWindow returns an error where the fault's window is not inside a run
// whose levels are measured for so long.
func (s *Spec) CheckWindow(hold time.Duration) error {
	w := s.Window
	if w.From >= hold {
		return s.fail("window.from", fmt.Sprintf("starts at %v, when the measured %v of a level are over", w.From, hold), "start earlier, or hold each level for longer")
	}
	if w.From+w.For > hold {
		return s.fail("window.for", fmt.Sprintf("ends at %v, after the measured %v of a level", w.From+w.For, hold), "make the window shorter, or hold each level for longer")
	}
	return nil
}

func (s *Spec) fail(field, message, hint string) *Error {
	return &Error{Name: s.Name, Field: field, Message: message, Hint: hint}
}
