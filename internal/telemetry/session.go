package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lambdac/lambdac/trace"
)

const (
	// openTime is how long a source may take to open and to be read once.
	openTime = 5 * time.Second
	// closeTime is how long Close waits for readings under way.
	closeTime = 5 * time.Second
)

// Output takes the samples. WriteSample is called by several goroutines at once
// and must not keep the sample.
type Output interface {
	WriteSample(*trace.Sample) error
}

// Source is one source and what came of it.
type Source struct {
	// Name is the sampler's, or an endpoint's URL without user and query.
	Name   string             `json:"name"`
	Source trace.SampleSource `json:"source"`
	// Absent is why it is not there; "" = it is.
	Absent string `json:"absent,omitempty"`
	// Readings that gave something, and samples in them.
	Readings int64 `json:"readings"`
	Samples  int64 `json:"samples"`
	// Holes are ticks without a full reading; Reasons counts them.
	Holes   int64            `json:"holes"`
	Reasons map[string]int64 `json:"reasons,omitempty"`
	// Slowest is the longest reading, ns.
	Slowest time.Duration `json:"slowest_ns"`
	// Abandoned: a reading still hung when the run had ended.
	Abandoned bool `json:"abandoned,omitempty"`
}

// Summary is what a session gave.
type Summary struct {
	Sources []Source
	// Restarts are the moments at which counters of an endpoint began again, on
	// the run's clock.
	Restarts []Restart
	// Err is the first error of the output; sampling ended with it.
	Err error
	// ClockStep is by how much the wall clock was set meanwhile.
	ClockStep time.Duration
}

// Session samples until it is closed.
type Session struct {
	cfg     *Config
	clock   clock
	workers []*worker
	absent  []Source
	rows    []trace.Sample // of what is absent
	servers []*server

	out   Output
	ended bool
	err   error
	mu    sync.Mutex // guards ended, err, and writing

	cancel context.CancelFunc
	quit   chan struct{}
	paced  chan struct{}
}

// Open opens every source and reads it once. A source of this machine that is
// not there is no error: [Session.Sources] says why. An endpoint is asked for by
// name, so one that does not give metrics is an error that matches [*EndpointError].
func Open(ctx context.Context, cfg Config) (*Session, error) {
	s := &Session{cfg: cfg.withDefaults(), clock: newClock()}
	if err := s.openEndpoints(ctx); err != nil {
		return nil, errors.Join(err, s.discard())
	}
	for _, r := range samplers() {
		switch choice := s.cfg.choice(r.part); {
		case choice == Off, choice == Auto && s.tells(r.source):
		default:
			s.openRow(ctx, r)
		}
	}
	return s, nil
}

func (s *Session) openEndpoints(ctx context.Context) error {
	if n := len(s.cfg.Endpoints); n > maxEndpoints {
		return &EndpointError{Name: fmt.Sprintf("%d endpoints", n), Reason: fmt.Sprintf("more than %d", maxEndpoints), Remedy: "name fewer"}
	}
	for _, url := range s.cfg.Endpoints {
		srv, err := newServer(url, s.cfg, s.tells(trace.SampleHost))
		if err != nil {
			return err
		}
		s.servers = append(s.servers, srv)
		r := row{name: srv.name, source: trace.SampleServer, part: partServer, metrics: []string{trace.MetricServerRunning, trace.MetricServerWaiting}}
		if err := within(ctx, openTime, func(ctx context.Context) error {
			return srv.sample(ctx, &batch{at: s.clock.now(), source: r.source})
		}); err != nil {
			return srv.refuse(err)
		}
		s.workers = append(s.workers, newWorker(s, r, srv))
	}
	return nil
}

// tells reports whether an endpoint tells of a source.
func (s *Session) tells(source trace.SampleSource) bool {
	for _, srv := range s.servers {
		if srv.tells[source] {
			return true
		}
	}
	return false
}

// openRow opens a source of this machine and reads it once, which also gives
// what shares are counted from.
func (s *Session) openRow(ctx context.Context, r row) {
	opened, err := openSampler(ctx, s.cfg, r)
	if errors.Is(err, errNotAsked) {
		return
	}
	if err != nil {
		s.absent = append(s.absent, Source{Name: r.name, Source: r.source, Absent: err.Error()})
		s.rows = append(s.rows, absent(r, s.clock.now(), err.Error())...)
		return
	}
	s.workers = append(s.workers, newWorker(s, r, opened))
}

func openSampler(ctx context.Context, cfg *Config, r row) (sampler, error) {
	var opened sampler
	err := within(ctx, openTime, func(ctx context.Context) error {
		smp, err := r.open(ctx, cfg)
		if err != nil {
			return err
		}
		b := &batch{at: time.Now().UnixNano(), source: r.source}
		if err := smp.sample(ctx, b); err != nil && len(b.rows) == 0 {
			return errors.Join(err, smp.close())
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), smp.close()) // nobody waits any more
		}
		opened = smp
		return nil
	})
	return opened, err
}

// within runs f, but waits for it no longer than d. f's effects count only where
// within returns nil.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("it panicked (%T)", p)
			}
		}()
		done <- f(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer within %s", d)
	}
}

// Sources are what was opened and what is absent, each with its reason.
func (s *Session) Sources() []Source {
	var out []Source
	for _, w := range s.workers {
		out = append(out, w.summary())
	}
	return append(out, s.absent...)
}

// Start samples into out, now and then at each tick, until Close.
func (s *Session) Start(out Output) {
	ctx, cancel := context.WithCancel(context.Background())
	s.out, s.cancel = out, cancel
	s.quit, s.paced = make(chan struct{}), make(chan struct{})
	s.write(s.rows)
	for _, w := range s.workers {
		go w.run(ctx)
	}
	go s.pace()
}

// pace wakes the workers at each tick. Where this process itself did not run
// for longer than a tick, that is a hole of all.
func (s *Session) pace() {
	defer close(s.paced)
	ticker := time.NewTicker(s.cfg.Every)
	defer ticker.Stop()
	last := s.clock.now()
	for {
		for _, w := range s.workers {
			w.tick(s.clock.now())
		}
		select {
		case <-s.quit:
			return
		case <-ticker.C:
		}
		if now := s.clock.now(); now-last > int64(2*s.cfg.Every) {
			for _, w := range s.workers {
				w.hole(last+int64(s.cfg.Every), "the load generator did not run")
			}
		}
		last = s.clock.now()
	}
}

// write hands rows to the output; after its first error, or the end, to nobody.
func (s *Session) write(rows []trace.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		if s.ended || s.err != nil {
			return
		}
		s.err = s.out.WriteSample(&rows[i])
	}
}

// Close ends sampling, waits for readings under way, some seconds at most, and
// says what came of it. The output is not used afterwards.
func (s *Session) Close() *Summary {
	if s.out == nil {
		return &Summary{Sources: s.Sources(), Err: s.discard()}
	}
	close(s.quit)
	<-s.paced
	s.cancel()
	for _, w := range s.workers {
		close(w.wake)
	}
	s.await()
	s.mu.Lock()
	s.ended = true
	err := s.err
	s.mu.Unlock()
	out := &Summary{Sources: s.Sources(), Err: err, ClockStep: s.clock.step()}
	for _, srv := range s.servers {
		out.Restarts = append(out.Restarts, srv.restarted()...)
	}
	return out
}

// await waits for all workers, together no longer than closeTime; one that hangs
// is said to be abandoned.
func (s *Session) await() {
	t := time.NewTimer(closeTime)
	defer t.Stop()
	late := false
	for _, w := range s.workers {
		if !late {
			select {
			case <-w.done:
			case <-t.C:
				late = true
			}
		}
		if late {
			w.abandonUnlessDone()
		}
	}
}

func (w *worker) abandonUnlessDone() {
	select {
	case <-w.done:
	default:
		w.mu.Lock()
		w.state.Abandoned = true
		w.mu.Unlock()
	}
}

// discard closes what was opened and never started.
func (s *Session) discard() error {
	var errs []error
	for _, w := range s.workers {
		errs = append(errs, w.sampler.close())
	}
	return errors.Join(errs...)
}
