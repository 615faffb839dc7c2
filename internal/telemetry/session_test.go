package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// memoryOutput keeps samples.
type memoryOutput struct {
	mu   sync.Mutex
	rows []trace.Sample
	fail error
}

func (o *memoryOutput) WriteSample(s *trace.Sample) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail != nil {
		return o.fail
	}
	o.rows = append(o.rows, *s)
	return nil
}

// of are the rows of a metric, in the order in which they were written.
func (o *memoryOutput) of(metric string) (rows []trace.Sample) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.rows {
		if r.Metric == metric {
			rows = append(rows, r)
		}
	}
	return rows
}

// fake is a sampler that a test scripts; n counts its readings from 1.
type fake struct {
	n      int
	read   func(n int, b *batch) error
	closed bool
}

func (f *fake) sample(_ context.Context, b *batch) error {
	f.n++
	return f.read(f.n, b)
}

func (f *fake) close() error {
	f.closed = true
	return nil
}

// steady always gives one value.
func steady(metric string) *fake {
	return &fake{read: func(n int, b *batch) error {
		b.add(metric, local, float64(n))
		return nil
	}}
}

func fakeSession(fakes ...*fake) *Session {
	s := &Session{cfg: (&Config{}).withDefaults(), clock: newClock()}
	for i, f := range fakes {
		name := string(rune('a' + i))
		s.workers = append(s.workers, newWorker(s, row{name: name, source: trace.SampleHost, metrics: []string{"of." + name}}, f))
	}
	return s
}

// source is the summary of one.
func (s *Summary) source(t *testing.T, name string) Source {
	t.Helper()
	for _, src := range s.Sources {
		if src.Name == name {
			return src
		}
	}
	t.Fatalf("no source %q in %+v", name, s.Sources)
	return Source{}
}

func TestSamplesOnOneClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := steady("a"), steady("b")
		s, out := fakeSession(a, b), new(memoryOutput)
		s.Start(out)
		time.Sleep(10*time.Second + 500*time.Millisecond)
		sum := s.Close()
		for _, metric := range []string{"a", "b"} {
			rows := out.of(metric)
			if len(rows) != 11 {
				t.Fatalf("%d samples of %s in 10.5 s at 1 Hz, want 11", len(rows), metric)
			}
			for i, r := range rows {
				if want := s.clock.start.UnixNano() + int64(i)*int64(time.Second); r.AtUnixNs != want {
					t.Errorf("sample %d of %s at %d, want %d", i, metric, r.AtUnixNs, want)
				}
			}
		}
		if got := sum.source(t, "a"); got.Readings != 11 || got.Samples != 22 || got.Holes != 0 {
			t.Errorf("summary %+v, want 11 readings of a value and their time each", got)
		}
		if !a.closed || !b.closed {
			t.Error("a sampler was not closed")
		}
	})
}

func TestSamplerThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := &fake{read: func(n int, b *batch) error {
			if n == 4 {
				<-release
			}
			b.add("stuck", local, float64(n))
			return nil
		}}
		s, out := fakeSession(stuck, steady("other")), new(memoryOutput)
		s.Start(out)
		time.Sleep(6*time.Second + 500*time.Millisecond)
		close(release)
		time.Sleep(2 * time.Second)
		sum := s.Close()
		var got []string
		for _, r := range out.of("stuck") {
			if r.Value == nil {
				got = append(got, *r.Reason)
				continue
			}
			got = append(got, "value")
		}
		// Readings at 0, 1, 2 s; that of 3 s ends at 6.5 s; ticks 4, 5, 6 find it
		// under way; then 7 and 8.
		want := []string{"value", "value", "value", reasonBusy, reasonBusy, reasonBusy, "value", "value", "value"}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := len(out.of("other")); n != 9 {
			t.Errorf("the other sampler gave %d samples in 8.5 s, want 9: it must not wait", n)
		}
		if src := sum.source(t, "a"); src.Holes != 3 || src.Reasons[reasonBusy] != 3 || src.Abandoned || src.Slowest != 3500*time.Millisecond {
			t.Errorf("summary %+v, want 3 holes and a slowest reading of 3.5 s", src)
		}
	})
}

func TestSamplerThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := &fake{read: func(_ int, b *batch) error {
			<-release
			b.add("late", local, 1)
			return nil
		}}
		s, out := fakeSession(stuck, steady("other")), new(memoryOutput)
		s.Start(out)
		time.Sleep(3*time.Second + time.Millisecond)
		began := time.Now()
		sum := s.Close()
		if took := time.Since(began); took != closeTime {
			t.Errorf("Close took %s, want %s", took, closeTime)
		}
		if src := sum.source(t, "a"); !src.Abandoned || src.Holes != 3 {
			t.Errorf("summary %+v, want abandoned with 3 holes", src)
		}
		if sum.source(t, "b").Abandoned {
			t.Error("the other sampler is said to be abandoned")
		}
		// It never gave anything: its holes are of what it is for.
		if rows := out.of("of.a"); len(rows) != 3 || rows[0].Value != nil || *rows[0].Reason != reasonBusy {
			t.Errorf("holes %+v, want 3 of of.a", rows)
		}
		close(release)
		synctest.Wait()
		if len(out.of("late")) != 0 {
			t.Error("a sample was written after the end")
		}
	})
}

func TestSamplerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{read: func(n int, b *batch) error {
			switch n {
			case 2:
				return errors.New("gone")
			case 3:
				panic("a bug")
			case 4: // half of it
				b.add("one", local, 1)
				return errors.New("half gone")
			}
			b.add("one", local, 1)
			b.addRaw("two", "raw_two", local, 2)
			return nil
		}}
		s, out := fakeSession(f), new(memoryOutput)
		s.Start(out)
		time.Sleep(4*time.Second + time.Millisecond)
		sum := s.Close()
		var one, two []string
		for _, r := range out.of("one") {
			one = append(one, said(r))
		}
		for _, r := range out.of("two") {
			two = append(two, said(r))
			if r.RawName == nil || *r.RawName != "raw_two" || r.Instance != local {
				t.Errorf("row %+v lost its names", r)
			}
		}
		if got, want := strings.Join(one, "|"), "1|gone|the sampler panicked (string)|1|1"; got != want {
			t.Errorf("one: %s, want %s", got, want)
		}
		if got, want := strings.Join(two, "|"), "2|gone|the sampler panicked (string)|half gone|2"; got != want {
			t.Errorf("two: %s, want %s", got, want)
		}
		if src := sum.source(t, "a"); src.Holes != 3 || len(src.Reasons) != 3 {
			t.Errorf("summary %+v, want 3 holes of 3 reasons", src)
		}
	})
}

// said is a row's value or reason.
func said(r trace.Sample) string {
	if r.Value == nil {
		return *r.Reason
	}
	return strings.TrimSuffix(time.Duration(*r.Value).String(), "ns")
}

func TestOutputThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		s, out := fakeSession(steady("a")), &memoryOutput{fail: full}
		s.Start(out)
		time.Sleep(5 * time.Second)
		if sum := s.Close(); !errors.Is(sum.Err, full) {
			t.Errorf("error %v, want %v", sum.Err, full)
		}
	})
}

func TestNotFiniteIsUnknown(t *testing.T) {
	b := &batch{source: trace.SampleServer}
	zero := 0.0
	b.add("m", "i", zero/zero)
	b.add("m", "i", 1/zero)
	for _, r := range b.rows {
		if r.Value != nil || r.Reason == nil {
			t.Errorf("row %+v has a value, or no reason", r)
		}
	}
}

func TestAbsentSourcesSayWhyOnce(t *testing.T) {
	s, err := Open(t.Context(), Config{Host: On, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	out := new(memoryOutput)
	s.Start(out)
	sum := s.Close()
	if rows := out.of(trace.MetricCPUUtilization); len(rows) != 1 || rows[0].Value != nil || !strings.Contains(*rows[0].Reason, "/proc") {
		t.Errorf("rows %+v, want one without a value that names /proc", rows)
	}
	for _, src := range sum.Sources {
		if src.Absent == "" {
			t.Errorf("source %+v is there, on a host without /proc", src)
		}
	}
}

func TestNothingAsked(t *testing.T) {
	s, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	out := new(memoryOutput)
	s.Start(out)
	if sum := s.Close(); len(sum.Sources) != 0 || len(out.rows) != 0 {
		t.Errorf("sources %+v, rows %+v; want none", sum.Sources, out.rows)
	}
}
