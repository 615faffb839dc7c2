package twin

import (
	"fmt"
	"math"
	"slices"
)

// Never is the time of an event that does not come.
const Never = math.MaxInt64

// Engine is the scheduler. Times are virtual nanoseconds from its start. Equal
// parameters, seed, jobs and cancels give equal events. Not safe for
// concurrent use.
type Engine struct {
	p    Params
	seed uint64
	// quiet drops the events between a job's arrival and its end.
	quiet bool

	now     int64
	stepEnd int64 // Never while idle
	agenda  agenda
	order   uint64
	open    map[uint64]*seq // submitted and without an end
	waiting queue
	running []*seq // in order of admission
	kv      *pool
	stats   Stats
	work    int64 // what was simulated: sequences of steps and blocks looked at
	events  []Event
	spare   []*seq

	// Of pathologies and of whoever watches; empty in a healthy server.
	hooks  hooks
	memory *memory
	watch  *watch
	idleAt int64 // end of the last step
}

// seq is a job on its way through the server.
type seq struct {
	job      Job
	computed int // tokens whose KV is in memory
	made     int // tokens generated
	chunk    int // tokens computed in the step under way
	private  int
	shared   []*block // the first blocks of the prompt
	noShare  bool     // a later block than shared may not be shared
	admitted bool     // ever
	prefill  bool     // the step under way computes prompt
	doomed   bool     // fails at its end
	ended    bool     // its last event is out
	dropped  bool     // not to be served any more
	arrived  bool
	active   bool // in the batch
	blocked  blockade

	wrong   bool // known with the first token
	cutAt   int  // the token after which its stream breaks off, 0 = none
	evicted int  // times
	slow    bool // of the slow tenant
	buffer  []int32
	order   int8 // of the blocks of buffer
}

// total is the number of tokens whose KV the next token needs.
func (s *seq) total() int { return s.job.InputTokens + s.made }

// New returns an idle server at time 0. Parameters out of range are an error.
func New(p Params, seed uint64) (*Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("set up engine: %w", err)
	}
	e := &Engine{p: p, seed: seed, stepEnd: Never, open: map[uint64]*seq{}, kv: newPool(p)}
	for _, x := range Pathologies() {
		if slices.Contains(p.Pathologies, x.Name) {
			x.attach(e)
		}
	}
	return e, nil
}

// Submit hands in a job, which arrives at its ArriveNs, or now if that has
// passed. Jobs may be handed in early and in any order. An id that is open
// already is an error.
func (e *Engine) Submit(j Job) error {
	if e.open[j.ID] != nil {
		return fmt.Errorf("submit job %d: the id is in use", j.ID)
	}
	j.ArriveNs = max(j.ArriveNs, e.now)
	j.InputTokens = max(j.InputTokens, 1)
	j.OutputTokens = max(j.OutputTokens, 0)
	s := e.newSeq()
	s.job = j
	s.doomed = e.p.ErrorRate > 0 && unit(hashOf(hashOf(e.seed, streamError), j.ID)) < e.p.ErrorRate
	e.open[j.ID] = s
	e.stats.Submitted++
	e.at(due{at: j.ArriveNs, job: j.ID, s: s})
	return nil
}

// Cancel says that the client of the job goes away at the given time, or now
// if that has passed. A job that has ended by then is left alone.
func (e *Engine) Cancel(id uint64, atNs int64) {
	e.at(due{at: max(atNs, e.now), job: id})
}

func (e *Engine) at(d due) {
	e.order++
	d.order = e.order
	e.agenda.push(d)
}

// NextEventNs is when the engine next has something to do, [Never] if nothing
// is open or under way.
func (e *Engine) NextEventNs() int64 {
	next := e.stepEnd
	if len(e.agenda.items) > 0 {
		next = min(next, e.agenda.items[0].at)
	}
	return next
}

// Advance runs all that happens up to and including untilNs and returns the
// events in order of time; the slice is valid until the next call. With
// [Never] it runs until nothing is left.
func (e *Engine) Advance(untilNs int64) []Event {
	e.events = e.events[:0]
	for {
		next := e.NextEventNs()
		if next > untilNs || next == Never {
			break
		}
		e.watch.until(e, next)
		e.now = next
		if e.stepEnd == next {
			e.endStep()
		}
		for len(e.agenda.items) > 0 && e.agenda.items[0].at <= next {
			e.meet(e.agenda.pop())
		}
		if e.stepEnd == Never {
			e.beginStep()
		}
	}
	if untilNs != Never {
		e.watch.until(e, untilNs+1)
		e.now = max(e.now, untilNs)
	}
	return e.events
}

// meet handles an arrival or a cancel.
func (e *Engine) meet(d due) {
	if d.s == nil {
		e.leave(d.job)
		return
	}
	s, inside := d.s, len(e.running)+e.waiting.n
	switch {
	case s.ended: // cancelled before it came
		e.recycle(s)
	case !e.p.fits(s.job):
		e.end(s, Event{Kind: Failed, Status: 400})
		e.recycle(s)
	case e.p.MaxQueue != Unbounded && inside >= e.p.MaxRunning+e.p.MaxQueue:
		e.end(s, Event{Kind: Shed, Status: int16(e.p.ShedStatus)})
		e.recycle(s)
	default:
		for _, take := range e.hooks.arrive {
			take(s)
		}
		s.arrived = true
		e.waiting.pushBack(s)
	}
}

// leave takes note that the client of a job went away.
func (e *Engine) leave(id uint64) {
	s := e.open[id]
	if s == nil {
		return
	}
	e.end(s, Event{Kind: Cancelled})
	if s.arrived && e.p.ServeAbandoned {
		return
	}
	s.dropped = true
	if s.arrived && !s.active {
		e.waiting.n-- // peek skips it
	}
}

// end closes the job's account.
func (e *Engine) end(s *seq, ev Event) {
	e.stats.count(ev)
	e.tell(s, ev)
	s.ended = true
	delete(e.open, s.job.ID)
}

// tell emits an event of a job whose client is there.
func (e *Engine) tell(s *seq, ev Event) {
	if s.ended {
		return
	}
	ev.Job = s.job.ID
	e.emit(ev)
}

func (e *Engine) emit(ev Event) {
	if e.quiet && !ev.Kind.Ends() {
		return
	}
	ev.AtNs = e.now
	e.events = append(e.events, ev)
}

func (e *Engine) newSeq() *seq {
	if last := len(e.spare) - 1; last >= 0 {
		s := e.spare[last]
		e.spare = e.spare[:last]
		return s
	}
	return &seq{}
}

func (e *Engine) recycle(s *seq) {
	*s = seq{shared: s.shared[:0], buffer: s.buffer[:0]}
	e.spare = append(e.spare, s)
}
