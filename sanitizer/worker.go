package sanitizer

import (
	"sync/atomic"

	"github.com/lambdac/lambdac/internal/textstats"
	"github.com/lambdac/lambdac/trace"
)

// maxJobs bounds the answers that wait for the tokenizer.
const maxJobs = 16

// job is one answer to be counted. The worker owns texts and stats until done
// is closed; the features stay with the sanitizer.
type job struct {
	features  *trace.Features
	texts     [][]byte
	stats     *textstats.Tokens // nil: could not be counted
	abandoned atomic.Bool
	done      chan struct{}
}

// worker counts tokens beside the capture: the first answer loads a
// vocabulary, which takes half a second, and a long answer takes 0.2 s. Its
// owner waits for it in stop.
type worker struct {
	keys    *keyring
	counter *textstats.Counter
	jobs    chan *job
	ended   chan struct{}
}

func startWorker(keys *keyring) *worker {
	w := &worker{
		keys:    keys,
		counter: textstats.NewCounter(tokenBin(keys)),
		jobs:    make(chan *job, maxJobs),
		ended:   make(chan struct{}),
	}
	go func() {
		defer close(w.ended)
		for j := range w.jobs {
			w.run(j)
		}
	}()
	return w
}

// run counts one job. A panic in the tokenizer costs that answer's numbers and
// nothing else; what it says may hold text, so it is not repeated.
func (w *worker) run(j *job) {
	defer close(j.done)
	defer wipeTexts(j.texts)
	defer func() {
		if recover() != nil {
			j.stats = nil
		}
	}()
	if j.abandoned.Load() {
		return
	}
	if stats, err := w.counter.Count(j.texts); err == nil {
		j.stats = &stats
	}
}

// stop waits for all jobs.
func (w *worker) stop() {
	close(w.jobs)
	<-w.ended
	w.keys.wipe()
}

func wipeTexts(texts [][]byte) {
	for _, t := range texts {
		clear(t)
	}
}

// tokenBin is HMAC(key, token id) mod 256.
func tokenBin(keys *keyring) func(id int) uint8 {
	return func(id int) uint8 {
		return keys.sum("bin", string([]byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}))[0]
	}
}
