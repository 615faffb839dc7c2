package recorder

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/trace"
)

// fakeKernel plays events. Each time that both rings are asked for and empty,
// the clock moves on.
type fakeKernel struct {
	boot, wall int64
	control    []bpf.Control
	spilled    []bpf.Control
	data       []bpf.Data
	fill       float64
	steps      []bpf.Step
	lengths    map[uint64][2]int64
	forgotten  []uint64
	counts     func() bpf.Counts
	// The events from the hold-th on are not there before holdUntil.
	hold      int
	holdUntil int64
	// At stepAt the wall clock is set by step.
	stepAt int64
	step   time.Duration
}

func (k *fakeKernel) clocks() (boot, wall int64) { return k.boot, k.wall }

func (k *fakeKernel) pass(d time.Duration) {
	k.boot += int64(d)
	k.wall += int64(d)
	if k.stepAt != 0 && k.boot >= k.stepAt {
		k.wall += int64(k.step)
		k.stepAt = 0
	}
}

func (k *fakeKernel) Control(c *bpf.Control) (bool, error) {
	if len(k.control) == 0 {
		return false, nil
	}
	*c, k.control = k.control[0], k.control[1:]
	return true, nil
}

func (k *fakeKernel) Data(d *bpf.Data) (bool, error) {
	if len(k.data) == 0 || k.data[0].Time > k.boot || k.hold == 0 && k.boot < k.holdUntil {
		return false, nil
	}
	*d, k.data = k.data[0], k.data[1:]
	k.hold--
	return true, nil
}

func (k *fakeKernel) Fill() float64 { return k.fill }

func (k *fakeKernel) SetLadder(s bpf.Step) error {
	k.steps = append(k.steps, s)
	return nil
}

func (k *fakeKernel) Counts() (bpf.Counts, error) {
	if k.counts != nil {
		return k.counts(), nil
	}
	return bpf.Counts{}, nil
}

func (k *fakeKernel) Detach() error { return nil }
func (k *fakeKernel) Close() error  { return nil }

func (k *fakeKernel) Lengths(visit func(bpf.Length)) error {
	for cookie, pos := range k.lengths {
		visit(bpf.Length{Cookie: cookie, Pos: pos})
	}
	return nil
}

func (k *fakeKernel) Spilled(visit func(*bpf.Control)) error {
	for len(k.spilled) > 0 && k.spilled[0].Time <= k.boot {
		visit(&k.spilled[0])
		k.spilled = k.spilled[1:]
	}
	return nil
}

func (k *fakeKernel) Ignore(uint64, bool) error { return nil }

func (k *fakeKernel) Forget(_, cookie uint64) error {
	k.forgotten = append(k.forgotten, cookie)
	return nil
}

// playedKernel is a fake kernel, or one that wraps it.
type playedKernel interface {
	kernel
	clocks() (boot, wall int64)
	pass(time.Duration)
}

// playEBPF runs a source over a fake kernel for a while and returns what the
// reassembler made of it.
func playEBPF(t *testing.T, k playedKernel, span time.Duration) (*streamLog, *ebpfSource) {
	t.Helper()
	src := newEBPFSource(k, k.clocks)
	src.sleep = k.pass
	log := newStreamLog()
	r := newReassembler(log)
	boot, _ := k.clocks()
	for end := boot + int64(span); ; {
		if boot, _ = k.clocks(); boot >= end {
			src.Close()
		}
		seg, err := src.Next()
		switch {
		case err == nil:
			r.add(&seg)
		case errors.Is(err, ErrTick):
			r.tick(seg.Time)
		case errors.Is(err, io.EOF):
			r.flush()
			return log, src
		default:
			t.Fatal(err)
		}
	}
}

const bootStart = int64(1000e9)

func newFake() *fakeKernel {
	return &fakeKernel{boot: bootStart, wall: captureStart}
}

// at is a time of the fake kernel, and unixAt the same as users see it.
func at(d time.Duration) int64 { return bootStart + int64(d) }

func openAt(cookie uint64) bpf.Control {
	return bpf.Control{Kind: bpf.Open, Cookie: cookie, Time: at(0), Start: at(0)}
}

func out(cookie uint64, pos int64, text string, t time.Duration) bpf.Data {
	return bpf.Data{ToClient: true, Cookie: cookie, Pos: pos, Time: at(t), Want: len(text), Bytes: []byte(text)}
}

// TestEBPFOrder is the case of events out of order over CPUs: by position, with
// the times they have; late by 200 ms is no gap, and what never comes is one,
// behind which it goes on.
func TestEBPFOrder(t *testing.T) {
	pieces := []bpf.Data{
		out(7, 0, "aaaa", 1000*ms), out(7, 4, "bbbb", 1020*ms), out(7, 8, "cccc", 1040*ms), out(7, 12, "dddd", 1060*ms),
	}
	for _, row := range []struct {
		name string
		data []bpf.Data
		wait time.Duration // before the last
		text string
		gaps []string
	}{
		{"in order", pieces, 0, "aaaabbbbccccdddd", nil},
		{"swapped", []bpf.Data{pieces[0], pieces[2], pieces[1], pieces[3]}, 0, "aaaabbbbccccdddd", nil},
		{"late by 200 ms", []bpf.Data{pieces[0], pieces[2], pieces[3], pieces[1]}, 200 * ms, "aaaabbbbccccdddd", nil},
		{"never", []bpf.Data{pieces[0], pieces[2], pieces[3]}, 0, "aaaa????ccccdddd", []string{"4+4 ring_full"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newFake()
			k.control, k.data = []bpf.Control{openAt(7)}, row.data
			k.hold, k.holdUntil = len(row.data)-1, at(1060*ms+row.wait)
			log, _ := playEBPF(t, k, 5*time.Second)
			got := log.conns[1].dirs[ToClient]
			if string(got.data) != row.text || !slices.Equal(got.gaps, row.gaps) {
				t.Errorf("%q, gaps %v; want %q, %v", got.data, got.gaps, row.text, row.gaps)
			}
			for i, b := range got.data {
				if want := captureStart + (1000+20*int64(b-'a'))*int64(ms); b != '?' && got.times[i] != want {
					t.Errorf("byte %d (%c) at %d, want %d", i, b, got.times[i], want)
				}
			}
		})
	}
}

// TestEBPFEnds: data that is read after its connection's end comes before it.
func TestEBPFEnds(t *testing.T) {
	whole := out(7, 0, "answer", 1000*ms)
	end := bpf.Control{Kind: bpf.Close, Cookie: 7, Time: at(980 * ms), Flags: bpf.Counted, Pos: [2]int64{0, 6}, SeqPos: [2]int64{0, 6}}
	early := end
	early.Flags |= bpf.Closed
	early.Pos[1] = 0
	reset := bpf.Control{Kind: bpf.RST, Cookie: 7, Time: at(970 * ms)}
	finOut := bpf.Control{Kind: bpf.FIN, Cookie: 7, ToClient: true, Time: at(960 * ms), Flags: bpf.Counted, Pos: end.Pos, SeqPos: end.SeqPos}
	for _, row := range []struct {
		name    string
		control []bpf.Control
		data    []bpf.Data
		text    string
		gaps    []string
		end     string
		forgot  int
	}{
		{"closed with a reset of ours", []bpf.Control{end}, []bpf.Data{whole}, "answer", nil, "rst 1 to_client", 0},
		{"our FIN", []bpf.Control{finOut, end}, []bpf.Data{whole}, "answer", nil, "fin 1 to_client", 0},
		{"reset by the client, amid a call", []bpf.Control{reset, early, end}, []bpf.Data{whole}, "answer", nil, "rst 1 to_server", 0},
		{"whose call never tells", []bpf.Control{reset, early}, nil, "??????", []string{"0+6 unseen"}, "rst 1 to_server", 1},
		{"tail lost in the ring", []bpf.Control{finOut, end}, nil, "??????", []string{"0+6 ring_full"}, "fin 1 to_client", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newFake()
			k.control, k.data = append([]bpf.Control{openAt(7)}, row.control...), row.data
			k.pass(2 * time.Second)
			log, _ := playEBPF(t, k, 5*time.Second)
			got := log.conns[1].dirs[ToClient]
			if string(got.data) != row.text || !slices.Equal(got.gaps, row.gaps) || len(k.forgotten) != row.forgot {
				t.Errorf("%q, gaps %v, forgot %v; want %q, %v, %d", got.data, got.gaps, k.forgotten, row.text, row.gaps, row.forgot)
			}
			if all := strings.Join(log.events, "\n"); !strings.Contains(all, row.end) {
				t.Errorf("no %q in\n%s", row.end, all)
			}
		})
	}
}

// TestEBPFClock: a step of the wall clock bends no gap, and is told.
func TestEBPFClock(t *testing.T) {
	k := newFake()
	k.control = []bpf.Control{openAt(7)}
	k.data = []bpf.Data{out(7, 0, "a", 1000*ms), out(7, 1, "b", 9000*ms)}
	k.stepAt, k.step = at(5*time.Second), -time.Hour
	log, src := playEBPF(t, k, 12*time.Second)
	got := log.conns[1].dirs[ToClient].times
	want := []int64{captureStart + int64(1000*ms), captureStart + int64(9000*ms)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if all := strings.Join(src.Stats().Warnings, "\n"); !strings.Contains(all, "the wall clock was set 1 times during the recording, by -1h0m0s") {
		t.Errorf("warnings %q", all)
	}
}

// TestEBPFRung: a step up each time the ring is half full, one down after it
// was nearly empty for two seconds.
func TestEBPFRung(t *testing.T) {
	var r rung
	now := int64(0)
	var got []bpf.Step
	for _, fill := range []float64{0.1, 0.5, 0.9, 0.3, 0.05, 0.05, 0.2, 0, 0, 0, 0} {
		now += int64(time.Second)
		r.step = r.next(fill, 0, false, now)
		got = append(got, r.step)
	}
	if diff := cmp.Diff([]bpf.Step{0, 1, 2, 2, 2, 2, 2, 2, 2, 1, 1}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	for range 10 {
		r.step = r.next(1, 0, false, now)
	}
	if r.step != bpf.Detach {
		t.Errorf("step %d at the top", r.step)
	}
}

// TestEBPFHalfClose: a client that has closed its sending half before the
// answer is there when TCP says that it received it, and gone when not.
func TestEBPFHalfClose(t *testing.T) {
	ask, answer := "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	pos := [2]int64{int64(len(ask)), int64(len(answer))}
	for _, row := range []struct {
		acked int64
		want  string
	}{{pos[1], "ok"}, {0, "client_abort/recorded"}} {
		k := newFake()
		ends := bpf.Control{Cookie: 7, Flags: bpf.Counted, Pos: pos, SeqPos: pos, Acked: row.acked}
		event := func(kind bpf.Kind, toClient bool, t time.Duration) bpf.Control {
			e := ends
			e.Kind, e.ToClient, e.Time = kind, toClient, at(t)
			return e
		}
		k.control = []bpf.Control{openAt(7), event(bpf.FIN, false, 500*ms), event(bpf.FIN, true, 1000*ms), event(bpf.Close, false, 1001*ms)}
		request := out(7, 0, ask, 100*ms)
		request.ToClient = false
		k.data = []bpf.Data{request, out(7, 0, answer, 990*ms)}
		k.pass(2 * time.Second)
		src := newEBPFSource(k, k.clocks)
		src.sleep = k.pass
		src.Close()
		var sink collector
		if _, err := Run(t.Context(), src, &sink, Config{}); err != nil {
			t.Fatal(err)
		}
		if len(sink.list) != 1 || briefOutcome(sink.list[0].Record) != row.want {
			t.Errorf("received %d of %d bytes: %d exchanges, want one that is %q", row.acked, pos[1], len(sink.list), row.want)
		}
	}
}

// TestEBPFUntoldEnd: a client leaves in the middle of an answer, and its end finds
// the control ring full: the server's own, which follows, tells who left first.
func TestEBPFUntoldEnd(t *testing.T) {
	ask, answer := "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"
	pos := [2]int64{int64(len(ask)), int64(len(answer))}
	for flags, want := range map[bpf.ConnFlags]string{
		bpf.FINIn | bpf.PeerFirst: "client_abort/recorded",
		0:                         "server_abort/fin",
	} {
		k := newFake()
		end := bpf.Control{Kind: bpf.FIN, Cookie: 7, ToClient: true, Time: at(1000 * ms), Flags: bpf.Counted | flags, Pos: pos, SeqPos: pos, Acked: pos[1]}
		last := end
		last.Kind, last.Time = bpf.Close, at(1001*ms)
		k.control = []bpf.Control{openAt(7), end, last}
		request := out(7, 0, ask, 100*ms)
		request.ToClient = false
		k.data = []bpf.Data{request, out(7, 0, answer, 200*ms)}
		k.pass(2 * time.Second)
		src := newEBPFSource(k, k.clocks)
		src.sleep = k.pass
		src.Close()
		var sink collector
		if _, err := Run(t.Context(), src, &sink, Config{}); err != nil {
			t.Fatal(err)
		}
		if len(sink.list) != 1 || briefOutcome(sink.list[0].Record) != want {
			t.Errorf("flags %b: %d exchanges, want one that is %q", flags, len(sink.list), want)
		}
	}
}

func briefOutcome(r *trace.Record) string {
	if r.OutcomeDetail != nil {
		return string(r.Outcome) + "/" + string(*r.OutcomeDetail)
	}
	return string(r.Outcome)
}

// racingKernel puts an event into the control ring just before it hands out
// the data that follows it: between two looks of the reader.
type racingKernel struct {
	*fakeKernel
	late []bpf.Control
}

func (k *racingKernel) Data(d *bpf.Data) (bool, error) {
	ok, err := k.fakeKernel.Data(d)
	if ok {
		k.control, k.late = append(k.control, k.late...), nil
	}
	return ok, err
}

// TestEBPFOpenRace: a connection opens, and sends, while the reader goes from
// one ring to the other.
func TestEBPFOpenRace(t *testing.T) {
	k := newFake()
	k.data = []bpf.Data{out(7, 0, "aaaa", 10*ms), out(7, 4, "bbbb", 20*ms)}
	log, src := playEBPF(t, &racingKernel{k, []bpf.Control{openAt(7)}}, time.Second)
	if got := len(log.conns); got != 1 || src.stats.Connections != 1 {
		t.Errorf("%d connections, %d of them told of; want 1", got, src.stats.Connections)
	}
}
