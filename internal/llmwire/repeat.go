package llmwire

import (
	"bytes"
	"slices"
)

// repeating is what is known of a stream whose events may repeat the text so
// far: SGLang's do, Triton's where a model is set up to accumulate.
type repeating uint8

const (
	repeatNever repeating = iota
	// repeatOpen: it shows with the second text.
	repeatOpen
	// repeatOnce: the second text began with the first, which may be chance.
	repeatOnce
	repeatAlways
)

// trim leaves of texts that repeat what was said before only what is new.
func (a *Answer) trim() {
	for i := range a.f.pieces {
		p := &a.f.pieces[i]
		said := a.said(place{choice: p.choice, kind: p.kind})
		if said == nil || p.text.len() == 0 && a.repeats != repeatAlways {
			continue
		}
		if bytes.HasPrefix(a.f.bytes(p.text), said.Text) {
			a.repeated(p, len(said.Text))
			continue
		}
		a.unrepeated(&said.Text)
	}
}

// repeated takes n bytes off a piece that repeats them.
func (a *Answer) repeated(p *piece, n int) {
	switch a.repeats {
	case repeatNever:
		return
	case repeatOpen:
		a.repeats, a.trimmed = repeatOnce, n
	case repeatOnce:
		a.repeats = repeatAlways
	}
	p.text.from += n
}

// unrepeated: the next text does not begin with what was said. If one did, that
// was chance, and what was taken off it belongs there.
func (a *Answer) unrepeated(said *[]byte) {
	switch a.repeats {
	case repeatOnce:
		first := bytes.Clone((*said)[:a.trimmed])
		*said = slices.Insert(*said, a.trimmed, first...)
		a.kept += int64(len(first))
		a.repeats = repeatNever
	case repeatOpen:
		a.repeats = repeatNever
	}
}
