package main

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// recording is a trace as a recorder at the server would have made it.
type recording struct {
	params twin.Params
	seed   uint64
	// n requests at perS, each on its own; or sessions of agents, which begin
	// at perS.
	n      int
	perS   float64
	agents bool
	// chunks keeps the pieces of the answers.
	chunks bool
}

func (c *recording) write(path, name string) error {
	engine, err := twin.New(c.params, c.seed)
	if err != nil {
		return err
	}
	w, err := tracedir.Create(path, c.manifest(name), tracedir.Options{Force: true})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(c.seed, 2))
	client := &agents{recording: c, engine: engine, rng: rng, open: map[uint64]*turn{}, blocks: map[int64]int64{}}
	client.begin()
	if err := client.run(); err != nil {
		return err
	}
	for _, a := range client.asked {
		if err := w.Write(a.record); err != nil {
			return err
		}
	}
	return w.Close()
}

func (c *recording) manifest(name string) *trace.Manifest {
	m := &trace.Manifest{
		Version: madeBy, TraceID: "dataset-" + name, Origin: trace.OriginCapture, TimeBase: trace.TimeUnix, Clean: true,
		Seal: &trace.Seal{Mode: trace.ModeShape, Version: madeBy}, Warnings: []string{},
		NullReasons: map[string]string{"*": "the simulated server does not tell"},
	}
	if !c.chunks {
		m.NullReasons["chunks"] = "left out of this dataset to keep it small"
	}
	return m
}

// turn is a request of a session that is to be sent, or on its way.
type turn struct {
	*asked
	session int
	nth     int32
	at      int64
	think   *int64 // µs
	parent  string
	history int // tokens of the prompt
	keys    []int64
	left    int // turns to come
}

// agents sends the sessions; each waits for its answers.
type agents struct {
	*recording
	engine *twin.Engine
	rng    *rand.Rand
	due    turnQueue
	open   map[uint64]*turn
	asked  []*asked
	sent   uint64
	// blocks numbers the prefix blocks by first appearance.
	blocks map[int64]int64
}

// Shape of an agent's session: an instruction that all share, then turns that
// add a tool's result or a person's words and the answer before.
const (
	instructionTokens = 1536
	humanEvery        = 5
)

// begin puts the first request of each session on the list.
func (g *agents) begin() {
	mix := twin.BuiltinMix(g.seed)
	at := 0.0
	for i := range g.n {
		at += g.rng.ExpFloat64() / g.perS * 1e9
		t := &turn{session: i, at: int64(at), history: mix.Jobs[i%len(mix.Jobs)].InputTokens}
		t.asked = &asked{job: mix.Jobs[i%len(mix.Jobs)]}
		if g.agents {
			t.left = 2 + g.rng.IntN(12)
			t.history += instructionTokens
			t.job.OutputTokens = g.output()
			t.keys = g.keysOf(nil, t.session, t.history)
		}
		heap.Push(&g.due, t)
	}
}

// output is the length of an agent's answer: lognormal around 90 tokens.
func (g *agents) output() int {
	return min(max(int(math.Round(90*math.Exp(0.7*g.rng.NormFloat64()))), 8), 600)
}

// keysOf chains the keys of a prompt's full blocks on those that it begins
// with; the instruction's are the same in all sessions.
func (g *agents) keysOf(keys []int64, session, tokens int) []int64 {
	keys = append([]int64(nil), keys...)
	for i := len(keys); i < tokens/twin.BlockTokens; i++ {
		key := int64(i + 1)
		if i >= instructionTokens/twin.BlockTokens {
			key += int64(session+1) << 20
		}
		keys = append(keys, key)
	}
	return keys
}

// run sends what is due and follows up what has ended, to the end.
func (g *agents) run() error {
	for g.due.Len() > 0 || len(g.open) > 0 {
		until := g.engine.NextEventNs()
		if g.due.Len() > 0 && g.due[0].at <= until {
			if err := g.send(heap.Pop(&g.due).(*turn)); err != nil {
				return err
			}
			continue
		}
		for _, ev := range g.engine.Advance(until) {
			t := g.open[ev.Job]
			t.see(ev)
			if ev.Kind.Ends() {
				delete(g.open, ev.Job)
				g.follow(t, ev)
			}
		}
	}
	return nil
}

func (g *agents) send(t *turn) error {
	g.sent++
	t.job.ID, t.job.ArriveNs, t.job.InputTokens, t.job.Blocks = g.sent, t.at, t.history, t.keys
	t.record = newRecord(fmt.Sprintf("r-%04d", g.sent-1), &t.job, trace.OriginCapture)
	if g.agents {
		r := t.record
		r.SessionID, r.SessionSource, r.Turn = new(fmt.Sprintf("session-%02d", t.session)), trace.SessionBodyField, &t.nth
		r.ThinkTimeUs, r.MessageCount = t.think, new(2+2*t.nth)
		r.ToolDefCount = new(int32(14))
		if t.parent != "" {
			r.ParentRequestID = &t.parent
		}
		r.PrefixBlockSize, r.PrefixBlockUnit = new(int32(twin.BlockTokens)), new(trace.UnitToken)
		for _, key := range t.keys {
			if _, seen := g.blocks[key]; !seen {
				g.blocks[key] = int64(len(g.blocks))
			}
			r.PrefixBlockIDs = append(r.PrefixBlockIDs, g.blocks[key])
		}
	}
	g.open[g.sent] = t
	g.asked = append(g.asked, t.asked)
	return g.engine.Submit(t.job)
}

// follow plans the turn after one that has ended: a tool answers within
// seconds, a person takes longer.
func (g *agents) follow(t *turn, ev twin.Event) {
	if g.chunks {
		t.record.Chunks = t.chunks
	}
	if t.left == 0 || ev.Kind != twin.Done {
		return
	}
	t.record.FinishReasons = []string{"tool_calls"}
	wait := 1.2 * math.Exp(0.8*g.rng.NormFloat64())
	if (t.nth+1)%humanEvery == 0 {
		wait = 15 * math.Exp(0.6*g.rng.NormFloat64())
		t.record.FinishReasons = []string{"stop"}
	}
	next := &turn{
		asked: &asked{job: twin.Job{OutputTokens: g.output()}}, session: t.session, nth: t.nth + 1,
		at: ev.AtNs + int64(wait*1e6)*1000, think: new(int64(wait * 1e6)), parent: t.record.RequestID,
		history: t.history + t.job.OutputTokens + 40 + g.rng.IntN(400), left: t.left - 1,
	}
	next.keys = g.keysOf(t.keys, t.session, next.history)
	heap.Push(&g.due, next)
}

// turnQueue is a heap of turns by time, then session.
type turnQueue []*turn

func (q turnQueue) Len() int { return len(q) }
func (q turnQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].session < q[j].session
}
func (q turnQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *turnQueue) Push(x any)   { *q = append(*q, x.(*turn)) }

func (q *turnQueue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	*q = (*q)[:last]
	return t
}
