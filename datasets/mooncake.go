package datasets

import (
	"cmp"
	"fmt"

	"github.com/lambdac/lambdac/trace"
)

// mooncakeBlock is the number of tokens that one hash id stands for.
const mooncakeBlock = 512

// mooncake reads the trace format of the Mooncake FAST'25 release
// (github.com/kvcache-ai/Mooncake, FAST25-release/README.md): JSON lines with
// an arrival in milliseconds, token counts, and chained ids of 512-token
// blocks of which the last may be partial. Some of its traces lie on a grid
// of 3 s; the importer measures the grid. Of what AIPerf added, session_id is
// read; a turn with a delay in place of a timestamp has no arrival until the
// turn before it has ended, so it is refused.
func mooncake() format {
	return format{
		name:     "mooncake",
		license:  "Apache-2.0; Mooncake FAST'25 trace release, kvcache-ai",
		timeBase: trace.TimeRelative,
		unit:     "ms",
		assumed:  assumedChat,
		clock:    jsonClock("timestamp"),
		scan: func(s *scan) error {
			return jsonLines(s, readMooncake, func(in *mooncakeLine) (*trace.Record, string) { return mooncakeRow(s, in) })
		},
	}
}

// counted is what the JSON formats have in common.
type counted struct {
	timestamp     []byte
	input, output optional
	hashIDs       []int64
}

// read takes the member of that name; false where it is none of these.
func (c *counted) read(in *jsonReader, name []byte) bool {
	switch string(name) {
	case "timestamp":
		c.timestamp = in.number()
	case "input_length":
		c.input = in.int()
	case "output_length":
		c.output = in.int()
	case "hash_ids":
		c.hashIDs = in.ids()
	default:
		return false
	}
	return true
}

type mooncakeLine struct {
	counted
	sessionID []byte
}

func readMooncake(in *jsonReader, to *mooncakeLine) {
	for name := range in.members() {
		switch {
		case to.read(in, name):
		case string(name) == "session_id":
			to.sessionID = in.string()
		default:
			in.skip()
		}
	}
}

func mooncakeRow(s *scan, in *mooncakeLine) (*trace.Record, string) {
	r, msg := in.record(s, mooncakeBlock)
	if r != nil && len(in.sessionID) > 0 {
		r.SessionID = s.pseudonym(in.sessionID)
	}
	return r, msg
}

// record is an exchange of which arrival, lengths and prefix are known, in
// blocks of so many tokens.
func (c *counted) record(s *scan, block int32) (*trace.Record, string) {
	if c.timestamp == nil {
		return nil, "no timestamp"
	}
	if msg := cmp.Or(errCount("input_length", c.input), errCount("output_length", c.output)); msg != "" {
		return nil, msg
	}
	// Each time is rounded, never a gap, so nothing drifts.
	ns, ok := decimalNs(c.timestamp, s.unit)
	if !ok || ns < 0 {
		return nil, fmt.Sprintf("timestamp %s: want a number, 0 or more", clip(string(c.timestamp)))
	}
	r := s.lengths(ns, c.input.n, c.output.n)
	if c.hashIDs == nil {
		return r, ""
	}
	if want := (c.input.n + int64(block) - 1) / int64(block); int64(len(c.hashIDs)) != want {
		return nil, fmt.Sprintf("%d hash_ids for %d tokens, want %d blocks of %d", len(c.hashIDs), c.input.n, want, block)
	}
	r.Prefix = s.prefix(c.hashIDs, block)
	return r, ""
}
