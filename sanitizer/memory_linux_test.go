//go:build linux

package sanitizer

import (
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// weighing is an output that looks at what is reachable when a record comes to
// it: the bodies that wait, the tables, and what is kept.
type weighing struct {
	discard
	most uint64
}

func (w *weighing) Write(*trace.Record) error {
	w.most = max(w.most, live())
	return nil
}

// TestMemoryOfLargeBodies is an eighth of TestCalibrateMemoryOfLargeBodies, of
// one kind of body. It looks while the sanitizer waits, so that nothing depends
// on how fast the collector is.
func TestMemoryOfLargeBodies(t *testing.T) {
	testenv.Long(t)
	const size, workers = 2 << 20, 8
	body := oneText(rand.New(rand.NewPCG(1, 1)), size-1<<16)
	for _, mode := range []trace.Mode{trace.ModeRedact, trace.ModeFiller} {
		out := &weighing{}
		s := start(t, Config{Mode: mode, Key: testKey, FeatureShare: 1e-9}, out)
		s.targets.seen = everyTarget()
		before := live()
		var exchanges []*trace.Exchange
		for i := range workers {
			exchanges = append(exchanges, chat(uint64(i), 1, body))
		}
		for _, x := range exchanges {
			if err := s.Take(x); err != nil {
				t.Fatal(err)
			}
		}
		if took := out.most - min(before, out.most); took > 16*size {
			t.Errorf("%s: %d MiB, want at most %d", mode, took>>20, 16*size>>20)
		} else {
			t.Logf("%s: %d MiB", mode, took>>20)
		}
	}
}

// TestCalibrateMemoryOfLargeBodies: eight workers that hold a body of 16 MiB
// each and take turns at the sanitizer need at most 256 MiB, all bodies, tables
// and what is kept among it.
func TestCalibrateMemoryOfLargeBodies(t *testing.T) {
	testenv.Calibration(t)
	const size = 16 << 20
	r := rand.New(rand.NewPCG(1, 1))
	checkMemory(t, size, map[string]string{
		"chat": keywordRich(r, size-1<<16), "one text": oneText(r, size-1<<16), "media": media(r, size-1<<10),
	})
}

func checkMemory(t *testing.T, size int, bodies map[string]string) {
	t.Helper()
	const workers, most = 8, 16 // times one body
	for name, body := range bodies {
		for _, mode := range []trace.Mode{trace.ModeRedact, trace.ModeFiller} {
			s := start(t, Config{Mode: mode, Key: testKey, FeatureShare: 1e-9}, discard{})
			s.targets.seen = everyTarget()
			before := live()
			exchanges := make(chan *trace.Exchange, workers)
			for i := range workers {
				exchanges <- chat(uint64(i), 1, body)
			}
			close(exchanges)
			peak := mostLive(func() {
				for x := range exchanges {
					if err := s.Take(x); err != nil {
						t.Error(err)
					}
				}
			})
			took := peak - min(before, peak)
			t.Logf("%s, %s: %.1f MiB beside %d bodies of %d MiB", mode, name, float64(took)/(1<<20), workers, size>>20)
			if took > uint64(most*size) {
				t.Errorf("%s, %s: %d MiB, want at most %d", mode, name, took>>20, most*size>>20)
			}
		}
	}
}

// live is what was reachable of the heap when it was looked through.
func live() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// mostLive is the most that was reachable while work ran, as far as was looked.
func mostLive(work func()) (peak uint64) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				peak = max(peak, live())
			}
		}
	})
	work()
	close(done)
	wg.Wait()
	return peak
}
