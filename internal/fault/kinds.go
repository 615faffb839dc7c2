package fault

import (
	"fmt"
	"strings"
	"time"
)

// kind is a row of the table of faults: what it is called, what it takes, and
// what it does.
type kind struct {
	layer Layer
	name  string
	about string
	place int // in the table
	// params are its own; each fault has share, window and target as well.
	params []param
	// lasts is how long the window is where none is given; 0 = to the end.
	lasts time.Duration
	// leaves says why faults that hidden names have nothing to act on where
	// this one acts; "" = it hides none.
	leaves func(*Spec) string
	hidden func(self, other *kind) bool
	// make returns what it does; nil: the network does it.
	make func(*Spec) action
}

// kinds is the table, from the outermost: a fault acts on what those after it
// have made of an exchange.
func kinds() []kind {
	return []kind{
		retryStorm, delay, latencySpike, slowReader, bandwidth,
		reset, http429, http5xx, circuitBreaker, blackhole,
		truncate, insert, tokenNoise, base64Wrap,
		stall, cut, errorEvent, noEnd, duplicateEvent, badJSON,
		empty, irrelevant, threshold, rerank, metadata, embeddingDrift,
		netLatency, netBandwidth, netSlowClose, netTimeout, netResetPeer, netLimitData,
	}
}

// table is the rows of kinds, each with its place.
var table = placed(kinds())

func placed(rows []kind) []kind {
	for i := range rows {
		rows[i].place = i
	}
	return rows
}

func findKind(l Layer, name string) *kind {
	for i := range table {
		if table[i].layer == l && fold(table[i].name) == fold(name) {
			return &table[i]
		}
	}
	return nil
}

// inner is what is hidden by a fault that answers in place of the service: all
// that comes after it in the table, and what changes the answer.
func inner(self, other *kind) bool { return self.place < other.place }

func (k *kind) label() string { return string(k.layer) + "." + k.name }

// KindInfo describes one fault of the table.
type KindInfo struct {
	Layer Layer  `json:"layer"`
	Type  string `json:"type"`
	About string `json:"about"`
	// Parameters are "name=default", or "name" where it has to be given.
	Parameters []string `json:"parameters"`
}

// Kinds lists every fault there is, in the order in which they act, the
// outermost first.
func Kinds() []KindInfo {
	infos := make([]KindInfo, 0, len(table))
	for i := range table {
		k := &table[i]
		info := KindInfo{Layer: k.layer, Type: k.name, About: k.about, Parameters: []string{}}
		for _, p := range k.params {
			text := p.name
			if p.def != "" {
				text += "=" + p.def
			}
			info.Parameters = append(info.Parameters, text)
		}
		infos = append(infos, info)
	}
	return infos
}

// fold makes spellings of one name equal: retry_after, retry-after, retryAfter.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// closest returns the name that a person probably meant; "" = none is near.
func closest(name string, names []string) string {
	best, found := 3, ""
	for _, n := range names {
		if d := editDistance(fold(name), fold(n)); d < best && d < len(n) {
			best, found = d, n
		}
	}
	return found
}

// editDistance is Levenshtein's, by rows.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// suggest says what could have been meant instead of a name.
func suggest(name string, names []string) string {
	if near := closest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "use one of " + strings.Join(names, ", ")
}
