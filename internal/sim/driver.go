package sim

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// driver runs the engine in real time: virtual time is the wall time since its
// start. Whoever holds the lock first brings the engine up to now; the loop
// only makes sure that somebody does in time. So an event may be delivered
// late on a busy machine, but its virtual time, and with it the capacity, is
// not affected.
type driver struct {
	start time.Time
	wake  chan struct{} // the next event is earlier than the loop knows
	stop  chan struct{}
	loop  sync.WaitGroup

	mu      sync.Mutex
	engine  *twin.Engine
	tickets map[uint64]*ticket
	lastID  uint64
	wakeAt  int64         // until when the loop sleeps
	reading twin.Reading  // of the last whole second
	failed  map[int]int64 // failed allocations by order
	closed  bool
}

// ticket follows one job. The driver writes, the job's handler reads.
type ticket struct {
	id uint64
	// news has an element when something below changed.
	news chan struct{}
	// made is the number of tokens made so far.
	made atomic.Int32
	// cached and wrong are set before the first token is made, end before over.
	cached int32
	wrong  bool
	end    twin.Event
	over   atomic.Bool
}

func newDriver(p twin.Params, seed uint64) (*driver, error) {
	engine, err := twin.New(p, seed)
	if err != nil {
		return nil, err
	}
	engine.Watch()
	d := &driver{
		start:   time.Now(),
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		engine:  engine,
		tickets: map[uint64]*ticket{},
		failed:  map[int]int64{},
	}
	d.advance(0) // for the first reading
	d.loop.Go(d.run)
	return d, nil
}

// close ends the loop and every open job, with status 503, and waits for the
// loop.
func (d *driver) close() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.closed = true
	for id, t := range d.tickets {
		delete(d.tickets, id)
		t.finish(twin.Event{Job: id, Kind: twin.Shed, Status: 503})
	}
	d.mu.Unlock()
	close(d.stop)
	d.loop.Wait()
}

// number returns the next job id; ids count from 1.
func (d *driver) number() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastID++
	return d.lastID
}

// submit hands in a job that arrives now; nil after close.
func (d *driver) submit(j twin.Job) *ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	t := &ticket{id: j.ID, news: make(chan struct{}, 1)}
	j.ArriveNs = d.now()
	if d.engine.Submit(j) != nil { // ids never repeat
		return nil
	}
	d.tickets[t.id] = t
	d.advance(j.ArriveNs)
	return t
}

// abandon tells that the handler of the job is gone.
func (d *driver) abandon(t *ticket) {
	if t.over.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	now := d.now()
	d.engine.Cancel(t.id, now)
	d.advance(now)
}

// instruments are what the server and its machine show.
type instruments struct {
	stats twin.Stats
	twin.Reading
	// failed are failed allocations by order.
	failed map[int]int64
}

// instruments returns the engine's counters as of now, and its machine's as of
// the last whole second.
func (d *driver) instruments() instruments {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.advance(d.now())
	}
	return instruments{d.engine.Stats(), d.reading, maps.Clone(d.failed)}
}

func (d *driver) now() int64 { return int64(time.Since(d.start)) }

// advance brings the engine up to now and delivers what happened.
func (d *driver) advance(now int64) {
	for _, ev := range d.engine.Advance(now) {
		t := d.tickets[ev.Job]
		if t == nil {
			continue
		}
		switch {
		case ev.Kind.Ends():
			delete(d.tickets, ev.Job)
			t.finish(ev)
		case ev.Kind == twin.FirstToken || ev.Kind == twin.Token:
			if ev.Wrong { // of a first token only: after it the handler reads
				t.wrong = true
			}
			t.made.Store(ev.Token + 1)
			t.tell()
		case ev.Kind == twin.Admitted:
			t.cached = ev.Cached
		}
	}
	for _, r := range d.engine.Readings() {
		for _, f := range r.Memory.Failures {
			d.failed[f.Order]++
		}
		d.reading = r
	}
	if d.engine.NextEventNs() >= d.wakeAt {
		return
	}
	select { // the loop would sleep past it
	case d.wake <- struct{}{}:
	default:
	}
}

// longestSleep keeps the readings of an idle server from piling up.
const longestSleep = time.Minute

// run is the loop.
func (d *driver) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-d.wake:
		case <-timer.C:
		}
		d.mu.Lock()
		now := d.now()
		if !d.closed {
			d.advance(now)
		}
		d.wakeAt = d.engine.NextEventNs()
		wait := min(time.Duration(d.wakeAt-now), longestSleep)
		d.mu.Unlock()
		timer.Reset(wait)
	}
}

func (t *ticket) finish(ev twin.Event) {
	if ev.Kind == twin.Done || ev.Kind == twin.Cut {
		t.made.Store(ev.Token)
	}
	t.end = ev
	t.over.Store(true)
	t.tell()
}

// brokeOff reports whether a job that is over had a part of its answer made by
// then, which its client gets.
func (t *ticket) brokeOff() bool {
	return t.made.Load() > 0 && (t.end.Kind == twin.Cut || t.end.Cause == twin.Evicted)
}

func (t *ticket) tell() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}
