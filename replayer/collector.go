package replayer

import (
	"sync"

	"github.com/lambdac/lambdac/trace"
)

// collector takes the outcomes of one level, counts them, and hands the
// records to the output, all in one goroutine. Its queue has no limit: a
// worker that had to wait for a disk would still count as in flight, and the
// disk would then hold the load back.
type collector struct {
	write  func(*trace.Record) error
	failed func(error) // called once, with the first write error
	seen   func(*outcome)

	mu     sync.Mutex
	more   sync.Cond
	queue  []*outcome
	closed bool
	done   chan struct{}
	broken bool
}

func newCollector(write func(*trace.Record) error, seen func(*outcome), failed func(error)) *collector {
	c := &collector{write: write, seen: seen, failed: failed, done: make(chan struct{})}
	c.more.L = &c.mu
	go c.loop()
	return c
}

// add queues one outcome; it never blocks.
func (c *collector) add(o *outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, o)
	c.more.Signal()
}

// close waits until all that was added is written.
func (c *collector) close() {
	c.mu.Lock()
	c.closed = true
	c.more.Signal()
	c.mu.Unlock()
	<-c.done
}

func (c *collector) loop() {
	defer close(c.done)
	for {
		batch := c.next()
		if batch == nil {
			return
		}
		for _, o := range batch {
			c.seen(o)
			c.put(o.rec)
		}
	}
}

func (c *collector) next() []*outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.closed {
		c.more.Wait()
	}
	batch := c.queue
	c.queue = nil
	return batch
}

// put writes one record. After a write error the rest is counted only.
func (c *collector) put(r *trace.Record) {
	if c.broken {
		return
	}
	if err := c.write(r); err != nil {
		c.broken = true
		c.failed(err)
	}
}
