package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

const (
	second = int64(1e9)
	// madeBy is the version in manifests: that of the datasets.
	madeBy = "datasets 1"
	// startUnixNs is when virtual time begins, 2026-01-01T00:00:00Z.
	startUnixNs = 1767225600 * second
	endpoint    = "http://simulated:8000"
)

// asked is a request on its way through the model.
type asked struct {
	job    twin.Job
	record *trace.Record
	probe  bool
	last   int64 // of the last token, ns from the arrival
	chunks []trace.Chunk
}

// newRecord is the request of a job, before anything has happened to it.
func newRecord(id string, j *twin.Job, origin trace.Origin) *trace.Record {
	r := &trace.Record{}
	r.RequestID, r.Origin, r.SessionSource = id, origin, trace.SessionNone
	r.StartUnixNs, r.ArrivalResolutionNs = startUnixNs+j.ArriveNs, 1
	r.APIKind, r.Provider, r.Operation = trace.KindOpenAIChat, new("openai"), new("chat")
	r.Method, r.PathTemplate, r.HostPseudonym, r.ServerPort, r.HTTPVersion = "POST", "/v1/chat/completions", "host-1", 8000, "1.1"
	r.RequestModel, r.Stream, r.MaxTokens = new("sim-8b"), true, new(int32(j.OutputTokens))
	r.MessageCount = new(int32(1))
	r.ReqBodyBytes = int64(4*j.InputTokens + 120)
	r.ReqWireBytes = r.ReqBodyBytes
	r.TokenSource = trace.TokensUsage
	r.SanitizerMode, r.SanitizerVersion, r.BodyState = trace.ModeShape, madeBy, trace.BodyDroppedPolicy
	r.CaptureSource, r.CaptureHost, r.CaptureVersion, r.ClockSource = "simulator", "host-1", madeBy, "virtual"
	r.Vantage, r.SampledWeight = trace.VantageServer, 1
	if origin == trace.OriginReplay {
		r.Vantage = trace.VantageClient
	}
	r.ReqComplete, r.RespComplete = true, true
	r.TSentUs, r.TReqEndUs, r.ConnReused = new(int64(0)), new(int64(0)), new(true)
	return r
}

// see takes an event of the request.
func (a *asked) see(ev twin.Event) {
	r, at := a.record, ev.AtNs-a.job.ArriveNs
	switch ev.Kind {
	case twin.Admitted:
		r.TRespHeadersUs = new(at / 1000)
		r.CacheReadTokens = new(int64(ev.Cached))
	case twin.FirstToken, twin.Token:
		gap := at/1000 - a.last/1000
		if r.TFirstTokenUs == nil {
			r.TFirstEventUs, r.TFirstTokenUs, r.TFirstVisibleUs = new(at/1000), new(at/1000), new(at/1000)
			r.FirstChunkTokens = new(int32(1))
		} else if r.MaxGapUs == nil || gap > *r.MaxGapUs {
			r.MaxGapUs = &gap
		}
		r.TLastTokenUs = new(at / 1000)
		a.last = at
		a.chunks = append(a.chunks, trace.Chunk{GapUs: gap, Bytes: 4, Tokens: new(int32(1)), Kind: trace.ChunkText})
	}
	if a.probe && ev.Kind == twin.FirstToken {
		r.Features.ProbeScore = new(1.0)
		if ev.Wrong {
			*r.Features.ProbeScore = 0
		}
	}
	if ev.Kind.Ends() {
		a.end(ev, at)
	}
}

func (a *asked) end(ev twin.Event, at int64) {
	r, n := a.record, int32(len(a.chunks))
	r.TEndUs = new(at / 1000)
	r.StatusCode = new(int32(200))
	switch {
	case ev.Kind == twin.Done:
		r.Outcome, r.FinishReasons, r.ResponseModel = trace.OutcomeOK, []string{"stop"}, r.RequestModel
		r.InputTokens, r.OutputTokens = new(int64(a.job.InputTokens)), new(int64(a.job.OutputTokens))
		r.RawInputTokens, r.RawOutputTokens = r.InputTokens, r.OutputTokens
		r.EventCount = new(n + 1)
	case ev.Kind == twin.Cut || ev.Cause == twin.Evicted && n > 0:
		r.Outcome, r.OutcomeDetail, r.EventCount = trace.OutcomeServerAbort, new(trace.DetailFIN), new(n)
		r.TokenSource = trace.TokensNone
	default:
		r.Outcome, r.StatusCode = trace.OutcomeHTTPError, new(int32(ev.Status))
		r.TokenSource, r.EventCount, r.RespBodyBytes = trace.TokensNone, new(int32(0)), 60
	}
	if r.Outcome != trace.OutcomeOK {
		r.CacheReadTokens = nil
		if a.probe {
			r.Features.ProbeScore, r.Features.Reason = nil, new(trace.FeatureBodyDropped)
		}
	}
	r.ChunkCount = &n
	if r.TRespHeadersUs == nil {
		r.TRespHeadersUs = r.TEndUs
	}
	if n > 0 {
		r.RespBodyBytes = 150 * int64(n)
	}
	r.RespWireBytes = r.RespBodyBytes
}

// plan is a run: loads held one after the other.
type plan struct {
	params twin.Params
	seed   uint64
	// loads in requests per second; each is held replicates times.
	loads        []float64
	replicates   int
	warmup, hold int64
	// requests are the fewest of a window: where hold is too short for them, it
	// is longer.
	requests float64
	// mix is the seed of the traffic: plans of one mix and seed send the same.
	mix uint64
	// age is the number of requests that the server has served when the run
	// begins.
	age int
	// probeEvery: one request in so many is a question; 0 = none.
	probeEvery int
}

// drain is the time for the last answers of a level.
const drain = 5 * second

// probes is the number of different questions.
const probes = 100

func (p *plan) write(path, name string) error {
	engine, err := twin.New(p.params, p.seed)
	if err != nil {
		return err
	}
	engine.Watch()
	w, err := tracedir.Create(path, p.manifest(name), tracedir.Options{Force: true})
	if err != nil {
		return err
	}
	v := &virtualRun{plan: p, engine: engine, out: w, mix: twin.BuiltinMix(p.mix), rng: rand.New(rand.NewPCG(p.mix, 1))}
	if err := v.serve(p.age); err != nil {
		return err
	}
	var levels []trace.Level
	for replicate := range p.replicates {
		order := append([]float64(nil), p.loads...)
		if replicate > 0 { // against drift
			v.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		for _, load := range order {
			l := trace.Level{Index: int32(len(levels)), Order: int32(len(levels)), Replicate: int32(replicate), OfferedPerS: load}
			if err := v.hold(&l); err != nil {
				return err
			}
			levels = append(levels, l)
		}
	}
	for _, reading := range engine.Readings() {
		for _, s := range reading.Samples(startUnixNs, endpoint) {
			if err := w.WriteSample(&s); err != nil {
				return err
			}
		}
	}
	if err := w.SetLevels(levels); err != nil {
		return err
	}
	return w.Close()
}

func (p *plan) manifest(name string) *trace.Manifest {
	return &trace.Manifest{
		Version: madeBy, TraceID: "dataset-" + name, Origin: trace.OriginReplay, TimeBase: trace.TimeUnix, Clean: true,
		Seal:        &trace.Seal{Mode: trace.ModeShape, Version: madeBy},
		NullReasons: map[string]string{"chunks": "left out of this dataset to keep it small", "*": "the simulated server does not tell"},
		Warnings:    []string{},
		Run: &trace.Run{
			TraceID: "dataset-mix", Target: endpoint, Seed: p.seed, Loop: "open", Scaling: "superpose",
			RecordedPerS: p.loads[0], HoldNs: p.hold, WarmupNs: p.warmup, DrainNs: drain,
			Replicates: int32(p.replicates), Cache: "as_trace", Validity: trace.Validity{Verdict: trace.Valid},
		},
	}
}

// virtualRun sends the levels of a plan.
type virtualRun struct {
	*plan
	engine *twin.Engine
	out    *tracedir.Writer
	mix    twin.Mix
	rng    *rand.Rand
	now    int64
	sent   uint64
	asks   int
}

// serve lets the server get older, unwatched.
func (v *virtualRun) serve(n int) error {
	const perS = 50
	for i := range n {
		v.now += second / perS
		v.sent++
		job := v.mix.Jobs[i%len(v.mix.Jobs)]
		job.ID, job.ArriveNs = v.sent, v.now
		if err := v.engine.Submit(job); err != nil {
			return err
		}
		v.engine.Advance(v.now)
	}
	v.now = (v.now/second + 1) * second
	v.engine.Advance(v.now - 1)
	v.engine.Readings()
	return nil
}

// hold sends Poisson arrivals for a level and writes what comes back.
func (v *virtualRun) hold(l *trace.Level) error {
	begin := v.now
	start := begin + v.warmup
	end := start + max(v.plan.hold, int64(v.requests/l.OfferedPerS)*second)
	l.BeginUnixNs, l.StartUnixNs, l.EndUnixNs = startUnixNs+begin, startUnixNs+start, startUnixNs+end
	l.DrainedUnixNs = l.EndUnixNs + drain
	l.AchievedPerS, l.Scale, l.Outcomes = l.OfferedPerS, l.OfferedPerS/v.loads[0], map[trace.Outcome]int64{}
	l.LagP50Us, l.LagP99Us, l.InFlightCap = new(int64(0)), new(int64(0)), 4096
	l.ConnsOpened, l.ClientCPUShare = 1, new(0.0)
	var list []*asked
	open := map[uint64]*asked{}
	for at := float64(begin); ; {
		at += v.rng.ExpFloat64() / l.OfferedPerS * 1e9
		if int64(at) >= end {
			break
		}
		a := v.ask(len(list), int64(at), l.Index)
		list = append(list, a)
		open[a.job.ID] = a
		if err := v.engine.Submit(a.job); err != nil {
			return err
		}
	}
	inFlight, next := int32(0), 0
	for _, ev := range v.engine.Advance(end + drain) {
		for next < len(list) && list[next].job.ArriveNs <= ev.AtNs {
			inFlight++
			next++
		}
		l.InFlightMax = max(l.InFlightMax, inFlight)
		a := open[ev.Job]
		if a == nil { // of the level before, which has given it up
			continue
		}
		a.see(ev)
		if ev.Kind.Ends() {
			inFlight--
		}
	}
	v.now = end + drain
	for _, a := range list {
		if a.record.Outcome == "" { // the drain was too short for it
			a.record.Outcome, a.record.OutcomeDetail = trace.OutcomeClientAbort, new(trace.DetailDrain)
			a.record.TEndUs = new((v.now - a.job.ArriveNs) / 1000)
			a.record.ChunkCount, a.record.TokenSource = new(int32(len(a.chunks))), trace.TokensNone
			l.InFlightAtEnd++
		}
		if l.InWindow(a.record.StartUnixNs) {
			l.Scheduled++
			l.Outcomes[a.record.Outcome]++
			l.Tally.Add(&a.record.Result)
		}
		if err := v.out.Write(a.record); err != nil {
			return err
		}
	}
	return nil
}

// ask makes the nth request of a level.
func (v *virtualRun) ask(n int, at int64, level int32) *asked {
	v.sent++
	a := &asked{job: v.mix.Jobs[n%len(v.mix.Jobs)]}
	a.job.ID, a.job.ArriveNs = v.sent, at
	a.record = newRecord(fmt.Sprintf("r-%04d", n), &a.job, trace.OriginReplay)
	a.record.Level = &level
	if v.probeEvery > 0 && n%v.probeEvery == 0 {
		a.probe = true
		id := fmt.Sprintf("question-%d", v.asks%probes)
		a.record.RequestID = fmt.Sprintf("q-%05d", v.asks)
		v.asks++
		a.record.Features = &trace.Features{RequestID: a.record.RequestID, ProbeID: &id}
	}
	return a
}
