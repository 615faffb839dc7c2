package replayer

import (
	"context"
	"crypto/x509"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/lambdac/lambdac/internal/fault"
	"github.com/lambdac/lambdac/trace"
)

// Config is what to send where, how fast, and when to give up. The zero value
// of every field but Target, Loads (or Planner) and Hold is usable.
type Config struct {
	// Target is the service's base URL, without the API path. A trailing /v1
	// is ignored, since the paths of the API families have it.
	Target string
	// Model replaces the recorded model's name; "" keeps it.
	Model string
	// Headers are sent with every request: credentials, from the environment.
	Headers http.Header

	// Loads are the loads to hold, in any order. Ignored with a Planner.
	Loads []Load
	// Planner chooses the next level from those done; nil holds Loads.
	Planner Planner
	// Replicates is how often each load is held; 0 = 1.
	Replicates int
	// NoRepeat leaves out the extra replicate of the lowest load that ends a
	// run of three loads or more, by which drift of the service shows.
	NoRepeat bool
	// Sessions says when turns of a conversation are due; "" = causal, but
	// strict under resample, which keeps no conversation together.
	Sessions Sessions
	// NoCancels waits for answers that the recorded client gave up on, instead
	// of giving up after as many tokens.
	NoCancels bool
	// Scaling is how the recorded arrivals become the offered load;
	// "" = superpose.
	Scaling Scaling
	// CV is the coefficient of variation of the gaps under resample;
	// 0 = 1, a Poisson process. Even makes all gaps equal instead.
	CV   float64
	Even bool
	// NoSpread keeps arrivals on the grid of the recording's clock instead of
	// spreading them inside it.
	NoSpread bool
	// MaxIdle shortens gaps between arrivals of the trace above it, such as a
	// night without traffic; 0 = none. The manifest says how many, and what that
	// makes of the recorded rate.
	MaxIdle time.Duration
	// Ramp raises the load evenly from 0 over the first part of the warm-up,
	// 0 ≤ Ramp ≤ Warmup, so that no load comes at once.
	Ramp time.Duration
	// Seed decides order, phases, thinning and prompts.
	Seed uint64

	// Hold is the measured window of a level, Warmup the time of the same load
	// before it. Drain is how long answers may take after the window; 0 = 30 s.
	// Settle is the pause after it; 0 = 500 ms.
	Hold, Warmup, Drain, Settle time.Duration
	// Timeouts are the client's deadlines; zero = none.
	Timeouts Timeouts

	// KeepHeaders are fields of answers that records keep beside Content-Type and
	// Retry-After, such as one by which a service says that it fell back.
	KeepHeaders []string

	// Faults are injected into the exchanges; their windows count from each
	// level's measured start, and Seed decides which exchanges they hit.
	Faults []fault.Spec
	// Probes is the share of the chat requests that are replaced by questions
	// with known answers, 0 to 0.5; see [trace.Features].
	Probes float64
	// Features is the share of the recorded requests of whose answers features
	// are taken, 0 to 1; with any, one prompt is asked every 5 s beside. See
	// [trace.Features].
	Features float64

	// Shard says which part of the schedule this process sends; zero = all.
	Shard Shard

	// MaxInFlight is the client's own limit of requests open at once; 0 = 4096.
	// A level in which it held is invalid. CapPolicy is what happens then.
	MaxInFlight int
	CapPolicy   CapPolicy
	// CatchUp is what becomes of requests that are overdue because this client
	// was stalled; "" = burst.
	CatchUp CatchUp
	// Connections says which requests share one; "" = reuse. MaxConns is the
	// most connections that are open at once, 0 = no limit; a level in which more
	// requests than that were open is invalid. HTTP/1 only.
	Connections Connections
	MaxConns    int
	// MaxPerS refuses loads above it; 0 = no limit.
	MaxPerS float64
	// MaxTokens stops the replay before prompt and pinned output tokens exceed
	// it; 0 = no limit.
	MaxTokens int64
	// MaxCost stops the replay before prompts and answers cost more, in the
	// currency of Price; 0 = no limit.
	MaxCost float64
	Price   Price
	// Breaker stops a replay whose target only fails.
	Breaker Breaker
	// AllowProduction permits a target that was captured in this trace.
	AllowProduction bool
	// MaxLag bounds the 99th percentile of the client's own delay in a valid
	// level, or 2 % of the median TTFT where that is more; 0 = 5 ms. Latencies
	// count from the schedule and so hold the lag: a higher bound suits an
	// error rate, not a latency.
	MaxLag time.Duration
	// SharedProcess says that the target runs in this process (a
	// demonstration): its CPU time cannot be told from the client's, so CPU is a
	// warning and no reason to void a level.
	SharedProcess bool

	// Cache says how prompts relate across levels; "" = as_trace.
	Cache Cache
	// TokenIDs sends prompts of /v1/completions as ids of tokens, so that they
	// have the recorded length in every vocabulary; texts that the trace kept go
	// as they are.
	TokenIDs bool
	// IgnoreEOS asks the service to generate up to the pinned length.
	IgnoreEOS bool

	// Progress is called about once a second and at each level's end, never
	// twice at once; nil = no progress.
	Progress func(Progress)
	// Version of the tool, for manifests and records.
	Version string

	// HTTP2 sends over HTTP/2: by ALPN to https targets, by prior knowledge to
	// http ones. A stream that finds no room under the service's limit of
	// concurrent streams gets a connection of its own, so that no limit of ours
	// reads as the service's.
	HTTP2 bool

	// RootCAs are the authorities that an https target's certificate may come
	// from; nil = the system's.
	RootCAs *x509.CertPool

	// Dial connects to the target; nil = TCP with a deadline of 30 s.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	cpuTime   func() (time.Duration, bool)
	wallClock func() time.Time
}

// Load is one offered load: PerS requests per second, or Scale times the
// trace's mean rate; or, for a closed loop, InFlight requests kept open. Exactly
// one of them is set, and the same one in all loads of a run but that PerS and
// Scale may be mixed.
type Load struct {
	PerS, Scale float64
	InFlight    int
}

// Planner chooses levels one by one. Next gets the levels done so far in the
// order they were run, and returns the next one with OfferedPerS or Scale set;
// false ends the run.
type Planner interface {
	Next(done []trace.Level) (trace.Level, bool)
}

// Watcher is a Planner that judges levels by more than their counts: See gets
// every record due in a level's window, in no order, before the Next after it.
// Levels and records are its to read only during the call.
type Watcher interface {
	Planner
	See(*trace.Level, *trace.Record)
}

// Timeouts are deadlines of one request, from its dispatch. Zero = none.
type Timeouts struct {
	// FirstToken bounds the time to the first generated output of a stream, or
	// to the whole of another answer; Idle the time without a byte after the
	// answer's head; Total the whole exchange.
	FirstToken, Idle, Total time.Duration
}

// CapPolicy says what happens to a request that is due while MaxInFlight are
// open.
type CapPolicy string

const (
	// CapDrop records the request as not sent. It is the default.
	CapDrop CapPolicy = "drop"
	// CapQueue sends it when another one has ended, late.
	CapQueue CapPolicy = "queue"
)

// Connections says when a request gets a connection of its own.
type Connections string

const (
	// ConnReuse: where none is free. It is the default.
	ConnReuse Connections = "reuse"
	// ConnFresh: always; the request says that the connection ends with it.
	ConnFresh Connections = "fresh"
	// ConnRecorded: where the recorded request was the first of its connection,
	// always; else where none is free.
	ConnRecorded Connections = "recorded"
)

// Cache says which prompts of one level return in another.
type Cache string

const (
	// CacheAsTrace: content that several sessions of the trace share is equal
	// in all levels, all other content is fresh in each level and copy. Inside
	// a level the sharing is the recording's.
	CacheAsTrace Cache = "as_trace"
	// CacheCold: no level shares anything with another.
	CacheCold Cache = "cold"
	// CachePrimed: every level sends the same prompts, and each of them is sent
	// once before the first level.
	CachePrimed Cache = "primed"
)

const (
	defaultMaxInFlight = 4096
	defaultDrain       = 30 * time.Second
	defaultSettle      = 500 * time.Millisecond
	defaultMaxLag      = 5 * time.Millisecond
)

// withDefaults returns the configuration with its zero fields filled in.
func (c Config) withDefaults() Config {
	c.Replicates = orDefault(c.Replicates, 1)
	c.MaxInFlight = orDefault(c.MaxInFlight, defaultMaxInFlight)
	c.Drain = orDefault(c.Drain, defaultDrain)
	c.Settle = orDefault(c.Settle, defaultSettle)
	c.MaxLag = orDefault(c.MaxLag, defaultMaxLag)
	c.Scaling = orDefault(c.Scaling, Superpose)
	c.CapPolicy = orDefault(c.CapPolicy, CapDrop)
	if c.closed() {
		c.Sessions = orDefault(c.Sessions, SessionsStrict)
	}
	c.Sessions = orDefault(c.Sessions, defaultSessions(c.Scaling))
	c.Cache = orDefault(c.Cache, CacheAsTrace)
	c.CatchUp = orDefault(c.CatchUp, CatchUpBurst)
	c.Connections = orDefault(c.Connections, ConnReuse)
	c.CV = orDefault(c.CV, 1)
	c.Breaker = c.Breaker.withDefaults()
	if c.cpuTime == nil {
		c.cpuTime = processCPU
	}
	if c.wallClock == nil {
		c.wallClock = wallTime
	}
	return c
}

func defaultSessions(s Scaling) Sessions {
	if s == Resample {
		return SessionsStrict
	}
	return SessionsCausal
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// check returns an ErrInput that names the first field that makes no sense.
func (c *Config) check() error {
	if _, err := parseTarget(c.Target); err != nil {
		return err
	}
	if c.MaxLag < 0 {
		return inputError("give a duration such as 5ms", "bound of the client's lag %v: want above 0", c.MaxLag)
	}
	if c.Hold <= 0 || c.Warmup < 0 || c.Drain < 0 || c.Settle < 0 {
		return inputError("give --hold a duration such as 60s", "hold %v, warm-up %v: out of range", c.Hold, c.Warmup)
	}
	if c.Ramp < 0 || c.Ramp > c.Warmup || c.MaxIdle < 0 {
		return inputError("the ramp is a part of --warmup; an idle gap is above 0",
			"ramp %v of a warm-up of %v, idle gaps up to %v: out of range", c.Ramp, c.Warmup, c.MaxIdle)
	}
	if !slices.Contains([]Scaling{Superpose, Thin, Compress, Resample}, c.Scaling) {
		return inputError("use superpose, thin, compress or resample", "unknown scaling %q", c.Scaling)
	}
	if !slices.Contains([]Sessions{SessionsCausal, SessionsStrict, SessionsClosed}, c.Sessions) {
		return inputError("use causal, strict or closed", "unknown way %q to hold sessions", c.Sessions)
	}
	if c.Even && (c.Scaling != Resample || c.CV != 1) {
		return inputError("use --arrivals constant alone", "even gaps with scaling %s and a coefficient of variation of %v", c.Scaling, c.CV)
	}
	if c.Scaling == Resample && c.Sessions != SessionsStrict {
		return inputError("use --sessions strict, or another --scaling", "resample keeps no conversation together: sessions cannot be %s", c.Sessions)
	}
	if !slices.Contains([]CapPolicy{CapDrop, CapQueue}, c.CapPolicy) {
		return inputError("use drop or queue", "unknown policy %q for the in-flight limit", c.CapPolicy)
	}
	if !slices.Contains([]Cache{CacheAsTrace, CacheCold, CachePrimed}, c.Cache) {
		return inputError("use as_trace, cold or primed", "unknown cache state %q", c.Cache)
	}
	if c.Replicates < 0 || !(c.MaxPerS >= 0) {
		return inputError("give --replicates and --max-rate above 0, or leave them out",
			"%d replicates, at most %v/s: out of range", c.Replicates, c.MaxPerS)
	}
	if t := c.Timeouts; min(t.FirstToken, t.Idle, t.Total) < 0 {
		return inputError("give durations such as 30s, or leave them out", "deadlines of %v, %v, %v: out of range", t.FirstToken, t.Idle, t.Total)
	}
	if c.MaxInFlight < 1 || !(c.CV > 0) || math.IsInf(c.CV, 0) {
		return inputError("both must be above 0", "in-flight limit %d, coefficient of variation %v: out of range", c.MaxInFlight, c.CV)
	}
	for _, part := range []func() error{c.checkCatchUp, c.checkConnections, c.checkBudget, c.checkBreaker, c.checkProbes, c.checkFeatures, c.checkFaults, c.checkShard, c.checkClosed} {
		if err := part(); err != nil {
			return err
		}
	}
	if c.Planner == nil && len(c.Loads) == 0 {
		return inputError("give --rate, --levels or --scale", "no load to hold")
	}
	return nil
}

// parseTarget splits off what a service's base URL may carry by mistake.
func parseTarget(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	if err != nil { // its text holds the target, which may hold a password
		return nil, inputError("give --target as http://HOST:PORT", "the target is not a URL")
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, inputError("give --target as http://HOST:PORT", "target %q is not an http or https URL", u.Redacted())
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, inputError("put credentials into LAMBDAC_TARGET_HEADER_AUTHORIZATION",
			"the target's URL may hold no user, query or fragment")
	}
	u.Path = trimBase(u.Path)
	return u, nil
}
