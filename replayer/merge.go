package replayer

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Part is the run of one shard.
type Part struct {
	// Name is what messages call it, such as its path.
	Name     string
	Manifest *trace.Manifest
	Levels   []trace.Level
	Marks    []trace.Mark
	Rows     iter.Seq2[*trace.Record, error]
}

// maxStartSpread is how far apart shards may have started a level.
const maxStartSpread = 50 * time.Millisecond

// Merge writes the records of all shards of one replay to out and counts the
// levels anew from them. Quantiles are never averaged: they are computed from
// the records, by whoever reads the merged run.
//
// A run that lacks a shard, or of which one started late or ended early, is
// merged and marked invalid. Parts that are not shards of one replay are an
// [ErrInput]; nothing is written then.
func Merge(parts []Part, out Output) (*Result, error) {
	m, err := newMerger(parts)
	if err != nil {
		return nil, err
	}
	for i := range m.parts {
		if err := m.take(&m.parts[i], out); err != nil {
			return nil, err
		}
	}
	m.close()
	if err := out.SetLevels(m.result.Levels); err != nil {
		return &m.result, fmt.Errorf("%w: write levels: %w", ErrOutput, err)
	}
	if m.result.Marks = mergeMarks(m.parts); len(m.result.Marks) > 0 {
		if err := out.SetMarks(m.result.Marks); err != nil {
			return &m.result, fmt.Errorf("%w: write marks: %w", ErrOutput, err)
		}
	}
	said := *m.parts[0].Manifest.Run
	said.Shard, said.Validity = "", m.result.Validity
	err = out.SetManifest(func(man *trace.Manifest) {
		man.Run, man.Clean, man.Warnings = &said, true, m.result.Warnings
	})
	if err != nil {
		return &m.result, fmt.Errorf("%w: write manifest: %w", ErrOutput, err)
	}
	return &m.result, nil
}

// CheckParts reports whether runs can be merged: an [ErrInput] where they are
// not shards of one replay.
func CheckParts(parts []Part) error {
	_, err := newMerger(parts)
	return err
}

// merger adds shards up.
type merger struct {
	parts  []Part // by shard
	shards []Shard
	result Result
	open   [][]change // by level: what was open when
	invalid
}

// invalid are the reasons why a merged run says nothing, apart from those of
// its levels.
type invalid []string

// change is a request that began (+1) or ended (−1).
type change struct {
	at int64
	by int32
}

func newMerger(parts []Part) (*merger, error) {
	m := &merger{parts: slices.Clone(parts), result: Result{Outcomes: make(map[trace.Outcome]int64)}}
	if len(parts) == 0 {
		return nil, mergeError("name the run directories of all shards", "nothing to merge")
	}
	count := 0
	shardOf := make(map[string]Shard)
	for _, p := range parts {
		run := p.Manifest.Run
		if run == nil {
			return nil, mergeError("merge takes runs of replay --shard i/N", "%s is not a run", p.Name)
		}
		s, err := ParseShard(run.Shard)
		if err != nil || s.Count < 2 {
			return nil, mergeError("merge takes runs of replay --shard i/N", "%s is a whole run, not a shard", p.Name)
		}
		if count == 0 {
			count = s.Count
		}
		if diff := differs(parts[0].Manifest.Run, run); diff != "" || s.Count != count {
			return nil, mergeError("merge the shards of one replay", "%s and %s are of different replays: %s", parts[0].Name, p.Name, cmp.Or(diff, "the number of shards differs"))
		}
		for _, other := range shardOf {
			if other.Index == s.Index {
				return nil, mergeError("name each shard once", "%s: shard %s is there twice", p.Name, s)
			}
		}
		shardOf[p.Name] = s
	}
	slices.SortFunc(m.parts, func(a, b Part) int { return cmp.Compare(shardOf[a.Name].Index, shardOf[b.Name].Index) })
	for _, p := range m.parts {
		m.shards = append(m.shards, shardOf[p.Name])
	}
	m.checkWhole(count)
	return m, nil
}

// differs names what two shards of one replay must have in common.
func differs(a, b *trace.Run) string {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"trace", a.TraceID, b.TraceID},
		{"target", a.Target, b.Target},
		{"seed", a.Seed, b.Seed},
		{"scaling", a.Scaling, b.Scaling},
		{"sessions", a.Sessions, b.Sessions},
		{"cache", a.Cache, b.Cache},
		{"hold", a.HoldNs, b.HoldNs},
		{"warm-up", a.WarmupNs, b.WarmupNs},
		{"drain", a.DrainNs, b.DrainNs},
		{"replicates", a.Replicates, b.Replicates},
		{"deadlines", [3]int64{a.FirstTokenNs, a.IdleNs, a.TotalNs}, [3]int64{b.FirstTokenNs, b.IdleNs, b.TotalNs}},
	} {
		if f.a != f.b {
			return fmt.Sprintf("%s %v and %v", f.name, f.a, f.b)
		}
	}
	return ""
}

func (m *merger) checkWhole(count int) {
	have := make(map[int]bool)
	for i, s := range m.shards {
		have[s.Index] = true
		if p := m.parts[i]; !p.Manifest.Clean {
			m.invalid = append(m.invalid, fmt.Sprintf("shard %s was killed or did not finish (%s)", s, p.Name))
		}
	}
	for i := 1; i <= count; i++ {
		if !have[i] {
			m.invalid = append(m.invalid, fmt.Sprintf("shard %d/%d is missing: its requests were not sent, or are not here", i, count))
		}
	}
	levels := 0
	for _, p := range m.parts {
		levels = max(levels, len(p.Levels))
	}
	for i, p := range m.parts {
		if len(p.Levels) != levels {
			m.invalid = append(m.invalid, fmt.Sprintf("shard %s has %d of %d levels", m.shards[i], len(p.Levels), levels))
		}
	}
	for n := range levels {
		m.addLevel(n)
	}
	m.open = make([][]change, levels)
}

// addLevel makes the merged level n, without what the records tell.
func (m *merger) addLevel(n int) {
	var l trace.Level
	var first, last int64
	seen := false
	for i, p := range m.parts {
		if n >= len(p.Levels) {
			continue
		}
		of := &p.Levels[n]
		if !seen {
			l, seen = *of, true
			l.Invalid, l.Warnings = nil, nil
			first, last = of.StartUnixNs, of.StartUnixNs
			l.InFlightCap, l.InFlightAtEnd, l.ConnsOpened, l.ConnsReused, l.AchievedPerS = 0, 0, 0, 0, 0
			l.Prefix, l.Within = new(trace.PrefixReuse), new(trace.WindowEvents)
		}
		if of.OfferedPerS != l.OfferedPerS {
			m.invalid = append(m.invalid, fmt.Sprintf("level %d: shard %s offered %v/s, others %v/s", n+1, m.shards[i], of.OfferedPerS, l.OfferedPerS))
		}
		first, last = min(first, of.StartUnixNs), max(last, of.StartUnixNs)
		l.BeginUnixNs, l.DrainedUnixNs = min(l.BeginUnixNs, of.BeginUnixNs), max(l.DrainedUnixNs, of.DrainedUnixNs)
		l.InFlightCap += of.InFlightCap
		l.InFlightAtEnd += of.InFlightAtEnd
		l.ConnsOpened, l.ConnsReused = l.ConnsOpened+of.ConnsOpened, l.ConnsReused+of.ConnsReused
		if of.Prefix != nil {
			l.Prefix.Add(of.Prefix)
		}
		l.AchievedPerS += of.AchievedPerS
		l.LagP50Us, l.LagP99Us = larger(l.LagP50Us, of.LagP50Us), larger(l.LagP99Us, of.LagP99Us)
		if of.ClientCPUShare != nil && (l.ClientCPUShare == nil || *of.ClientCPUShare > *l.ClientCPUShare) {
			l.ClientCPUShare = of.ClientCPUShare
		}
		for _, why := range of.Invalid {
			l.Invalid = append(l.Invalid, fmt.Sprintf("shard %s: %s", m.shards[i], why))
		}
		for _, why := range of.Warnings {
			l.Warnings = append(l.Warnings, fmt.Sprintf("shard %s: %s", m.shards[i], why))
		}
	}
	if spread := time.Duration(last - first); spread > maxStartSpread {
		l.Invalid = append(l.Invalid, fmt.Sprintf("shards started up to %v apart, over %v", spread, maxStartSpread))
	}
	l.Scheduled, l.Outcomes, l.Tally, l.Faulted, l.InFlightMax = 0, make(map[trace.Outcome]int64), trace.Tally{}, 0, 0
	m.result.Levels = append(m.result.Levels, l)
}

func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// take copies the records of one shard and counts them by level. Whether a
// request was due in the window is its own shard's to say: the starts differ
// by the clocks' error.
func (m *merger) take(p *Part, out Output) error {
	for r, err := range p.Rows {
		if err != nil {
			return fmt.Errorf("read %s: %w", p.Name, err)
		}
		m.result.Scheduled++
		m.result.Outcomes[r.Outcome]++
		if r.Level != nil && int(*r.Level) < len(p.Levels) {
			m.count(&p.Levels[*r.Level], r)
		}
		if err := out.Write(r); err != nil {
			return fmt.Errorf("%w: %w", ErrOutput, err)
		}
	}
	return nil
}

func (m *merger) count(own *trace.Level, r *trace.Record) {
	n := *r.Level
	if r.TSentUs != nil && r.TEndUs != nil {
		sent := r.StartUnixNs + *r.TSentUs*int64(time.Microsecond)
		m.open[n] = append(m.open[n], change{sent, 1}, change{max(sent, r.StartUnixNs+*r.TEndUs*int64(time.Microsecond)), -1})
	}
	l := &m.result.Levels[n]
	l.Within.Take(own, r)
	if !own.InWindow(r.StartUnixNs) {
		return
	}
	l.Scheduled++
	l.Outcomes[r.Outcome]++
	l.Tally.Add(&r.Result)
	if len(r.Faults) > 0 {
		l.Faulted++
	}
}

// close counts what was open at once and draws the verdict.
func (m *merger) close() {
	for i, changes := range m.open {
		m.result.Levels[i].InFlightMax = peak(changes)
	}
	m.result.Validity = verdict(m.result.Levels)
	if len(m.invalid) > 0 {
		m.result.Validity.Verdict = trace.Invalid
		m.result.Validity.Reasons = append(slices.Clone([]string(m.invalid)), m.result.Validity.Reasons...)
	}
	seen := make(map[string]bool)
	for i, p := range m.parts {
		for _, w := range p.Manifest.Warnings {
			seen[fmt.Sprintf("shard %s: %s", m.shards[i], w)] = true
		}
	}
	m.result.Warnings = slices.Sorted(maps.Keys(seen))
}
