package analyzer

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// pairColumns are the columns that a comparison reads.
type pairColumns struct {
	judgedColumns

	RequestID string        `parquet:"request_id"`
	APIKind   trace.APIKind `parquet:"api_kind,dict"`
}

// pairRow is one request of an arm: 40 bytes, whatever the length of its id.
type pairRow struct {
	id     uint64
	api    uint16
	block  uint8
	class  trace.Class
	values [valuesPerRequest]float32
}

// pair is one request in both arms.
type pair struct{ base, cand *pairRow }

// place says which run of an arm is the partner of which in another.
type pairPlace struct {
	load      float64
	replicate int32
}

// armRun is one judged run of an arm, its rows in order of their id.
type armRun struct {
	pairPlace

	order   int32
	seconds float64
	rows    []pairRow
	left    int64 // excluded or faulted
	twice   int64 // left out with their id twice
}

// pairReader reads arms so that their API families have equal numbers.
type pairReader struct {
	kinds []trace.APIKind
	// objectives on latencies, which an answer has to meet to be a good one.
	objectives []Objective
}

// number is a request's id as 64 bits; two ids of ten million share one with
// probability 3·10⁻⁶.
func number(id string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id) // a hash does not fail
	return h.Sum64()
}

// read returns the judged runs of a run directory.
func (p *pairReader) read(d *tracedir.Dir, runs []*run) ([]*armRun, error) {
	closed := d.Manifest().Run.Loop == "closed"
	byIndex := make(map[int32]*armRun)
	byRun := make(map[int32]*run)
	var out []*armRun
	for _, r := range runs {
		if len(r.reasons) > 0 {
			continue
		}
		a := &armRun{pairPlace: pairPlace{nominal(r, closed), r.level.Replicate}, order: r.level.Order, seconds: r.level.Seconds()}
		byIndex[r.level.Index], byRun[r.level.Index] = a, r
		out = append(out, a)
	}
	for w, err := range tracedir.Rows[pairColumns](d) {
		if err != nil {
			return nil, fmt.Errorf("read requests: %w", err)
		}
		if w.Level == nil || byIndex[*w.Level] == nil || !byRun[*w.Level].level.InWindow(w.StartUnixNs) {
			continue
		}
		p.take(byIndex[*w.Level], byRun[*w.Level], w)
	}
	for _, a := range out {
		a.arrange()
	}
	return out, nil
}

// take adds one row of a run's window.
func (p *pairReader) take(a *armRun, r *run, w *pairColumns) {
	result := w.result()
	class := result.Class()
	if class == trace.ClassExcluded || len(w.Faults) > 0 {
		a.left++
		return
	}
	row := pairRow{id: number(w.RequestID), api: p.kind(w.APIKind), block: uint8(r.block(w.StartUnixNs)), class: class}
	row.values[valueTTFT] = value(w.TTFTUser())
	row.values[valueE2E] = value(w.E2E())
	row.values[valueTPOT] = value(w.tpot())
	row.values[valueGap] = value(w.MaxGap())
	row.values[valueTokens] = -1
	if w.OutputTokens != nil {
		row.values[valueTokens] = float32(*w.OutputTokens)
	}
	row.values[valueGood] = 0
	if class == trace.ClassOK && !slices.ContainsFunc(p.objectives, func(o Objective) bool {
		d, ok := w.latency(o.Metric)
		return ok && d > o.Max
	}) {
		row.values[valueGood] = 1
	}
	a.rows = append(a.rows, row)
}

// kind numbers an API family.
func (p *pairReader) kind(k trace.APIKind) uint16 {
	i := slices.Index(p.kinds, k)
	if i < 0 {
		i, p.kinds = len(p.kinds), append(p.kinds, k)
	}
	return uint16(i)
}

// arrange sorts the rows by id and leaves out ids that come twice: nothing
// tells which of them is the partner of which.
func (a *armRun) arrange() {
	slices.SortFunc(a.rows, func(x, y pairRow) int { return cmp.Compare(x.id, y.id) })
	kept := a.rows[:0]
	for i := 0; i < len(a.rows); {
		j := i + 1
		for j < len(a.rows) && a.rows[j].id == a.rows[i].id {
			j++
		}
		if j == i+1 {
			kept = append(kept, a.rows[i])
		} else {
			a.twice += int64(j - i)
		}
		i = j
	}
	a.rows = kept
}

// pairs joins two runs by id.
func pairs(base, cand *armRun) []pair {
	var out []pair
	for i, j := 0, 0; i < len(base.rows) && j < len(cand.rows); {
		switch x, y := &base.rows[i], &cand.rows[j]; {
		case x.id < y.id:
			i++
		case x.id > y.id:
			j++
		default:
			out = append(out, pair{x, y})
			i, j = i+1, j+1
		}
	}
	return out
}

// partner is the run of an arm that has the place of another arm's run.
func partner(arm []*armRun, of *armRun) *armRun {
	for _, a := range arm {
		if a.replicate == of.replicate && sameLoad(a.load, of.load) {
			return a
		}
	}
	return nil
}

// minUnits is the least number of runs that are compared as runs: from six that
// agree on a sign alone p would be 2 ÷ 2^6 = 0.031.
const minUnits = 6

// match pairs the runs of two arms into units: whole runs where there are
// enough of them, else their blocks.
func match(base, cand []*armRun, metrics []compared) (units []unit, p Pairing) {
	p = Pairing{Unit: "run", Loads: []float64{}, MissingLoads: []float64{}}
	type couple struct{ base, cand *armRun }
	var couples []couple
	for _, b := range base {
		if c := partner(cand, b); c != nil {
			couples = append(couples, couple{b, c})
			if !slices.Contains(p.Loads, b.load) {
				p.Loads = append(p.Loads, b.load)
			}
		}
	}
	for _, b := range base {
		if !slices.ContainsFunc(cand, func(c *armRun) bool { return sameLoad(b.load, c.load) }) && !slices.Contains(p.MissingLoads, b.load) {
			p.MissingLoads = append(p.MissingLoads, b.load)
		}
	}
	slices.Sort(p.Loads)
	slices.Sort(p.MissingLoads)
	if len(couples) < minUnits {
		p.Unit = "block"
	}
	for _, c := range couples {
		joined := pairs(c.base, c.cand)
		p.Requests += int64(len(joined))
		p.OnlyBaseline += int64(len(c.base.rows)-len(joined)) + c.base.left
		p.OnlyCandidate += int64(len(c.cand.rows)-len(joined)) + c.cand.left
		p.Duplicates += c.base.twice + c.cand.twice
		whole := p.Unit == "run"
		for block := range blocksPerRun {
			part := joined
			if !whole {
				part = slices.DeleteFunc(slices.Clone(joined), func(x pair) bool { return int(x.base.block) != block })
			}
			u := unitOf(part, metrics)
			u.load, u.order = c.base.load, c.base.order
			for i, m := range metrics {
				if m.kind == totalRatio && whole {
					u.cells[i] = m.totalCell(c.base.rows, c.cand.rows, [2]float64{c.base.seconds, c.cand.seconds})
				}
			}
			units = append(units, u)
			if whole {
				break
			}
		}
	}
	p.Units = len(units)
	return units, p
}

// unitOf is the unit of paired requests.
func unitOf(joined []pair, metrics []compared) unit {
	u := unit{cells: make([]cell, len(metrics))}
	for i := range metrics {
		if metrics[i].kind != totalRatio {
			u.cells[i] = metrics[i].cellOf(joined)
		}
	}
	return u
}
