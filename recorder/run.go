package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/trace"
)

// Sink takes what was recorded. Both methods are called from one goroutine,
// and the values belong to the sink afterwards.
type Sink interface {
	// Take takes one exchange as soon as it has ended.
	Take(x *trace.Exchange) error
	// Window takes the account of one second. Exchanges taken since the window
	// before belong to it; exchanges_written and dropped_sanitizer are the
	// sink's to fill in.
	Window(w *trace.CaptureWindow) error
}

// Config says how to record. The zero value works.
type Config struct {
	// BodyCap bounds what is kept of one body, in bytes, and the decoded size
	// of a compressed one; 0 = 16 MiB. What is over is counted.
	BodyCap int64
	// HeldCap bounds the bytes held at a time of all bodies and heads, of
	// messages whose end has not come, and of what waits for its turn; 0 = 128
	// MiB. Above it bodies are counted and not kept: the first step of the
	// ladder. A quarter of it is for messages under way and no more: above that
	// the oldest of them is given up, as cut by the recorder.
	HeldCap int64
	// Vantage is where the packets were seen; "" = server.
	Vantage trace.Vantage
	// Version is recorded as capture_version, Host as capture_host; "" = not
	// known, as where a capture file comes from.
	Version, Host string
	// KeepText hands the answers' texts to the sink, which features are taken
	// from; without it only numbers leave the recorder, and requests.
	KeepText bool
	// Rules say what requests to paths are that do not tell by themselves;
	// the first that fits is believed before path and body.
	Rules []llmwire.Rule
	// KeyLog holds the secrets of TLS connections; nil = those that the source
	// brings with it, if any.
	KeyLog *KeyLog
}

func (c *Config) bodyCap() int64 {
	if c.BodyCap > 0 {
		return c.BodyCap
	}
	return 16 << 20
}

func (c *Config) heldCap() int64 {
	if c.HeldCap > 0 {
		return c.HeldCap
	}
	return 128 << 20
}

// Report is what a recording saw in all.
type Report struct {
	// Source are the source's own counts.
	Source SourceStats
	// Totals are the sums of all windows.
	Totals trace.LossTotals
	// FirstUnixNs and LastUnixNs are the ends of the capture; 0 = empty.
	FirstUnixNs, LastUnixNs int64
	// Faults counts messages that could not be followed, by reason; Late
	// counts events after their stream's end mark.
	Faults map[string]int64
	Late   int64
	// Warnings are for the user.
	Warnings []string
}

// Run records from src until its end, an error, or ctx is done, and closes
// src. Every exchange goes to sink once.
//
// At a clean end (end of file, or ctx) exchanges still open are handed over
// as cut_by_capture, recorder_stop; the error is nil. An error of the source
// is returned after the same, so what was good is kept: the error of a capture
// that is cut in the middle is a [*CaptureError]. After an error of the sink
// nothing more is taken.
func Run(ctx context.Context, src Source, sink Sink, cfg Config) (Report, error) {
	stop := context.AfterFunc(ctx, func() { _ = src.Close() })
	defer stop()
	r := newRecording(src.Name(), sink, cfg)
	if in, ok := src.(interface {
		unreadSoFar() (bytes map[string]int64, last int64)
	}); ok {
		r.acct.unread = in.unreadSoFar
	}
	if in, ok := src.(interface{ ladder() int32 }); ok {
		r.acct.ladder = in.ladder
	}
	if in, ok := src.(interface{ ignore(c *ConnInfo) }); ok {
		r.ignore = in.ignore
	}
	r.clock = "packet"
	if in, ok := src.(interface{ clockSource() string }); ok {
		r.clock = in.clockSource()
	}
	r.tls = newTLSShared(cfg.KeyLog, src)
	ra := newReassembler(r)
	r.order = ra
	err := r.read(ctx, src, ra)
	if r.err == nil {
		ra.flush()
		r.fail(r.acct.flush())
	}
	closed := src.Close()
	if err = cmp.Or(r.err, err); err == nil && ctx.Err() == nil && closed != nil {
		err = fmt.Errorf("close source: %w", closed)
	}
	return r.report(src, &ra.stats), err
}

// read moves segments from the source to the reassembler, up to its end: a
// source that was closed still has what it had seen.
func (r *recording) read(ctx context.Context, src Source, ra *reassembler) error {
	for r.err == nil {
		seg, err := src.Next()
		switch {
		case err == nil:
			r.fail(r.acct.tick(seg.Time))
			ra.add(&seg)
		case errors.Is(err, ErrTick):
			r.fail(r.acct.tick(seg.Time))
			ra.tick(seg.Time)
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return nil
		default:
			return err // it says what was read, and where
		}
	}
	return nil
}

// recording is one run: it takes the ordered streams of all connections.
type recording struct {
	cfg   Config
	sink  Sink
	acct  account
	clock string // the column clock_source
	tls   tlsShared
	conns map[uint64]*conn
	// last spares the look-up for packets in a row of one connection.
	last    *conn
	ordinal uint64
	// ignore tells the source that it need not bring a connection's bytes any
	// more; nil = it does not care.
	ignore func(*ConnInfo)
	// held are the bytes of bodies, heads and messages under way; piled those of
	// exchanges that pile up on their connections.
	held, piled int64
	parts       partials
	order       *reassembler // which holds bytes too; nil without one
	err         error        // the sink's first error
}

func newRecording(source string, sink Sink, cfg Config) *recording {
	return &recording{
		cfg: cfg, sink: sink, acct: newAccount(sink, source), conns: make(map[uint64]*conn),
		tls: newTLSShared(cfg.KeyLog, nil),
	}
}

func (r *recording) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *recording) report(src Source, order *reassemblyStats) Report {
	rep := Report{
		Source: src.Stats(), Totals: r.acct.totals,
		FirstUnixNs: r.acct.first, LastUnixNs: r.acct.last,
		Faults: r.acct.faults, Late: r.acct.late,
	}
	rep.Warnings = slices.Concat(rep.Source.doubts(), r.acct.warnings(), r.tls.warnings(), order.warnings())
	return rep
}

func (r *recording) open(info *ConnInfo) { r.conns[info.ID] = openConn(r, info) }

// conn finds a connection and makes the calls it has kept, if their time has
// come.
func (r *recording) conn(info *ConnInfo) *conn {
	if r.last == nil || r.last.info != info {
		r.last = r.conns[info.ID]
	}
	r.last.release(false)
	return r.last
}

func (r *recording) data(info *ConnInfo, d Dir, _ int64, b []byte, t int64) {
	r.acct.saw(int64(len(b)))
	c := r.conn(info)
	if c.wait(d) {
		c.hold(heldCall{what: callData, b: b, t: t})
		r.weigh(c)
		return
	}
	c.data(d, b, t)
	r.weigh(c)
}

func (r *recording) gap(info *ConnInfo, d Dir, _, n int64, reason string, t int64) {
	c := r.conn(info)
	if reason == lostIgnored {
		r.acct.saw(n)
		r.acct.blind(c.whyOpaque(), n)
		return
	}
	r.acct.lost(reason, n)
	if c.wait(d) {
		c.hold(heldCall{what: callGap, n: n, reason: reason, t: t})
	} else {
		c.gap(d, n, reason, t)
	}
	r.weigh(c)
}

func (r *recording) fin(info *ConnInfo, d Dir, t int64) {
	c := r.conn(info)
	if c.wait(d) {
		c.hold(heldCall{what: callFIN, t: t})
		return
	}
	c.fin(d, t)
}

func (r *recording) rst(info *ConnInfo, d Dir, t int64) {
	c := r.conn(info)
	c.release(true)
	c.rst(d, t)
}

func (r *recording) closed(info *ConnInfo, _ int64) {
	c := r.conn(info)
	c.release(true)
	c.closed()
	r.charge(c, 0)
	delete(r.conns, info.ID)
	r.last = nil
}

// newExchange makes an exchange that starts at t, without counting it.
func (r *recording) newExchange(c *conn, t int64) *exchange {
	r.ordinal++
	rec := &trace.Record{}
	rec.Origin = trace.OriginCapture
	rec.StartUnixNs, rec.ArrivalResolutionNs = t, 1
	rec.CaptureSource, rec.CaptureVersion, rec.CaptureHost = r.acct.source, r.cfg.Version, r.cfg.Host
	rec.ClockSource, rec.SampledWeight = r.clock, 1
	if rec.Vantage = r.cfg.Vantage; rec.Vantage == "" {
		rec.Vantage = trace.VantageServer
	}
	rec.TLS = c.tls != nil || c.info.Decrypted
	rec.ServerPort = int32(c.info.Server.Port())
	if c.info.Client.IsValid() {
		rec.ClientPort = new(int32(c.info.Client.Port()))
	}
	x := &trace.Exchange{
		Ordinal: r.ordinal, Conn: c.info.ID, Record: rec,
		Client: c.info.Client, Server: c.info.Server,
	}
	e := &exchange{rec: r, c: c, x: x, r: rec, start: t, first: c.exchanges == 0}
	e.takeRq, e.takeRs = e.takeRequest, e.takeAnswer
	c.exchanges++
	return e
}

// begin makes an exchange and counts it as open.
func (r *recording) begin(c *conn, t int64) *exchange {
	e := r.newExchange(c, t)
	r.count(e)
	if len(c.queue) >= fewPipelined || c.h2 != nil && len(c.h2.streams) >= fewStreams {
		e.piled = true
		r.admit(e, pileCost)
	}
	return e
}

func (r *recording) count(*exchange) {
	r.acct.w.ExchangesSeen++
	r.acct.open++
}

// take hands a closed exchange to the sink.
func (r *recording) take(e *exchange) {
	r.acct.open--
	r.held -= int64(cap(e.req.data)+cap(e.resp.data)) + e.heads + e.event
	if e.piled {
		r.piled -= e.heads
	}
	if e.req.cut > 0 || e.resp.cut > 0 {
		r.acct.w.TruncatedBodies++
	}
	if r.err != nil {
		return
	}
	if err := r.sink.Take(e.x); err != nil {
		r.err = fmt.Errorf("take exchange %s: %w", strconv.FormatUint(e.x.Ordinal, 10), err)
	}
}

// room is the number of bytes that may still be held.
func (r *recording) room() int64 {
	left := r.cfg.heldCap() - r.held
	if r.order != nil {
		left -= r.order.held
	}
	if left <= 0 {
		r.acct.w.LadderStep = 1
	}
	return max(0, left)
}

// flag counts what is odd about a head.
func (r *recording) flag(h *head) {
	if h.cut > 0 {
		r.acct.fault("head_limit")
	}
	if h.broken > 0 {
		r.acct.fault("header_line")
	}
	if h.frame.both {
		r.acct.fault("length_and_transfer_encoding")
	}
}
