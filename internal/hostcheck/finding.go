package hostcheck

import (
	"slices"
	"strings"
)

// State is how a finding came out.
type State string

// The states of a finding.
const (
	StateOK      State = "ok"      // nothing in the way
	StateLimited State = "limited" // works with a loss that the finding names
	StateNo      State = "no"      // what it blocks does not work here
)

// Use is a way to record.
type Use string

// The ways to record.
const (
	UseEBPF  Use = "ebpf"  // record --ebpf: plaintext sockets
	UseTLS   Use = "tls"   // record --ebpf --tls: TLS libraries
	UseIface Use = "iface" // record --iface: packets
)

// Finding is one thing that was looked at.
type Finding struct {
	// Check names what was looked at.
	Check string `json:"check"`
	// State is how it came out: ok, limited or no.
	State State `json:"state"`
	// Found is what was seen, in words.
	Found string `json:"found"`
	// Blocks are the ways to record that do not work ("no"), or work with a
	// loss ("limited"); empty where none is hindered.
	Blocks []Use `json:"blocks"`
	// Remedy is what to do about it; empty where nothing is to be done.
	Remedy string `json:"remedy"`
}

// Refusal is the error of a way to record that does not work on this host. It
// is one line; Remedy says what to do.
type Refusal struct {
	// Use is the way that does not work.
	Use Use
	// Causes are the findings that block it, at least one.
	Causes []Finding
}

func (r *Refusal) Error() string {
	causes := make([]string, len(r.Causes))
	for i, f := range r.Causes {
		causes[i] = f.Check + ": " + f.Found
	}
	return strings.Join(causes, "; ")
}

// Remedy is what to do about all that is in the way, in one line.
func (r *Refusal) Remedy() string {
	var remedies []string
	for _, f := range r.Causes {
		remedies = append(remedies, f.Remedy)
	}
	return strings.Join(remedies, "; ")
}

// Refuse returns nil where nothing blocks a way to record, else a [*Refusal].
func Refuse(findings []Finding, use Use) error {
	r := &Refusal{Use: use}
	for _, f := range findings {
		if f.blocks(use, StateNo) {
			r.Causes = append(r.Causes, f)
		}
	}
	if len(r.Causes) == 0 {
		return nil
	}
	return r
}

// Verdict is how a way to record comes out over all findings: the worst state
// of those that concern it.
func Verdict(findings []Finding, use Use) State {
	verdict := StateOK
	for _, f := range findings {
		switch {
		case f.blocks(use, StateNo):
			return StateNo
		case f.blocks(use, StateLimited):
			verdict = StateLimited
		}
	}
	return verdict
}

func (f *Finding) blocks(use Use, state State) bool {
	return f.State == state && slices.Contains(f.Blocks, use)
}
