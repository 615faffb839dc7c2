package replayer

import (
	"sort"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Sessions says when a turn of a conversation is due.
type Sessions string

const (
	// SessionsCausal: at its own time, but not before the turn that it follows
	// has ended and the recorded think time has passed. It is the default: a
	// person does not answer what has not been said yet.
	SessionsCausal Sessions = "causal"
	// SessionsStrict: at its own time, whatever became of the turn before.
	SessionsStrict Sessions = "strict"
	// SessionsClosed: the think time after the turn before has ended; only
	// first turns have a time of their own.
	SessionsClosed Sessions = "closed"
)

// noTurn stands for "follows nothing".
const noTurn = -1

// turns tells, for each exchange of a trace, which one it follows and how long
// after that one's end it began.
//
// An exchange follows the one named as its parent; where none is named, the
// one of its session that ended last before it began. Requests of one session
// that overlap in the recording follow none of each other. A recording without
// ends (an import) has each turn follow the one before, with no think time.
type turns struct {
	parent []int32
	think  []time.Duration
}

// newTurns reads the records, which are sorted by start.
func newTurns(recs []*trace.Record) *turns {
	t := &turns{parent: make([]int32, len(recs)), think: make([]time.Duration, len(recs))}
	byID := make(map[string]int32, len(recs))
	sessions := make(map[string][]int32)
	for i, r := range recs {
		t.parent[i] = noTurn
		if j, ok := byID[parentID(r)]; ok {
			t.follow(recs, i, j)
		} else if r.SessionID != nil {
			t.follow(recs, i, lastEnded(recs, sessions[*r.SessionID], r.StartUnixNs))
		}
		byID[r.RequestID] = int32(i)
		if r.SessionID != nil {
			sessions[*r.SessionID] = append(sessions[*r.SessionID], int32(i))
		}
	}
	return t
}

// maxTurnsBack bounds how many turns of a session are looked at for the one
// that ended last: more than a client has open at once.
const maxTurnsBack = 64

// lastEnded is the exchange among earlier turns that ended last, but not after
// at; noTurn where all were still open.
func lastEnded(recs []*trace.Record, earlier []int32, at int64) int32 {
	best := int32(noTurn)
	for n := range min(len(earlier), maxTurnsBack) {
		j := earlier[len(earlier)-1-n]
		if end := recordedEnd(recs[j]); end <= at && (best == noTurn || end > recordedEnd(recs[best])) {
			best = j
		}
	}
	return best
}

func (t *turns) follow(recs []*trace.Record, i int, parent int32) {
	t.parent[i] = parent
	if parent != noTurn && recs[parent].TEndUs != nil {
		t.think[i] = max(0, time.Duration(recs[i].StartUnixNs-recordedEnd(recs[parent])))
	}
}

func parentID(r *trace.Record) string {
	if r.ParentRequestID == nil {
		return ""
	}
	return *r.ParentRequestID
}

// recordedEnd is when an exchange ended in the recording; its start where
// nobody saw the end.
func recordedEnd(r *trace.Record) int64 {
	if r.TEndUs == nil {
		return r.StartUnixNs
	}
	return r.StartUnixNs + *r.TEndUs*int64(time.Microsecond)
}

// followers is the number of exchanges that follow another.
func (t *turns) followers() (n int) {
	for _, p := range t.parent {
		if p != noTurn {
			n++
		}
	}
	return n
}

// turn names one exchange of one copy of the trace inside a level.
type turn struct {
	rec      int32
	instance int64
}

// link tells, for each arrival of a level, which turn it waits for, with the
// think time after it. A turn waits only for one that the level sends too, and
// earlier: a conversation that the level's start cut in half goes on from
// there. Think times are divided by shrink.
func (t *turns) link(arrivals []arrival, shrink float64) []wait {
	at := make(map[turn]int, len(arrivals))
	for i, a := range arrivals {
		at[turn{a.rec, a.instance}] = i
	}
	waits := make([]wait, len(arrivals))
	for i, a := range arrivals {
		waits[i].on = turn{rec: noTurn}
		on := turn{t.parent[a.rec], a.instance}
		if j, ok := at[on]; ok && j < i {
			waits[i] = wait{on: on, think: time.Duration(float64(t.think[a.rec]) / shrink)}
		}
	}
	return waits
}

// together moves each turn behind the one that it follows, and keeps first
// turns in order of time.
func (t *turns) together(arrivals []arrival) []arrival {
	at := make(map[turn]int, len(arrivals)) // where its conversation begins
	first := make([]int, len(arrivals))
	for i, a := range arrivals {
		first[i] = i
		if j, ok := at[turn{t.parent[a.rec], a.instance}]; ok {
			first[i] = j
		}
		at[turn{a.rec, a.instance}] = first[i]
	}
	order := make([]int, len(arrivals))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return first[order[i]] < first[order[j]] })
	out := make([]arrival, len(arrivals))
	for i, from := range order {
		out[i] = arrivals[from]
	}
	return out
}

// wait is what a turn waits for; on.rec is noTurn where it waits for nothing.
type wait struct {
	on    turn
	think time.Duration
}

// agenda holds what is to be sent, by when it is due: requests with a time of
// their own, and turns whose predecessor has ended. Turns whose predecessor is
// still open are parked beside it. It is for one goroutine at a time.
type agenda struct {
	due    []*item // a heap by due time
	parked map[turn][]*item
	// ended are the turns that are over while some that follow were not drawn
	// up yet.
	ended map[turn]time.Time
	// stamped is the number in due that came with a time of their own.
	stamped int
}

func newAgenda() *agenda {
	return &agenda{parked: make(map[turn][]*item), ended: make(map[turn]time.Time)}
}

// add takes an item that has its own time in due.
func (g *agenda) add(it *item) {
	if it.waits.on.rec == noTurn {
		g.stamped++
		g.push(it)
		return
	}
	if end, over := g.ended[it.waits.on]; over {
		it.follow(end)
		g.push(it)
		return
	}
	g.parked[it.waits.on] = append(g.parked[it.waits.on], it)
}

// end says that a turn is over, and reports whether one that waited for it is
// free now.
func (g *agenda) end(t turn, at time.Time) (freed bool) {
	g.ended[t] = at
	for _, it := range g.parked[t] {
		it.follow(at)
		g.push(it)
		freed = true
	}
	delete(g.parked, t)
	return freed
}

// push and pop keep due a heap by time, then by the schedule's order.
func (g *agenda) push(it *item) {
	g.due = append(g.due, it)
	for i := len(g.due) - 1; i > 0; {
		up := (i - 1) / 2
		if !g.due[i].before(g.due[up]) {
			break
		}
		g.due[i], g.due[up] = g.due[up], g.due[i]
		i = up
	}
}

func (g *agenda) pop() *item {
	top := g.due[0]
	last := len(g.due) - 1
	g.due[0], g.due[last] = g.due[last], nil
	g.due = g.due[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < last && g.due[down].before(g.due[least]) {
				least = down
			}
		}
		if least == i {
			break
		}
		g.due[i], g.due[least] = g.due[least], g.due[i]
		i = least
	}
	if top.waits.on.rec == noTurn {
		g.stamped--
	}
	return top
}

// rest empties the agenda: what is left in it, in order of the schedule.
func (g *agenda) rest() []*item {
	left := g.due
	for _, items := range g.parked {
		left = append(left, items...)
	}
	g.due, g.parked = nil, make(map[turn][]*item)
	sort.Slice(left, func(i, j int) bool { return left[i].order < left[j].order })
	return left
}
