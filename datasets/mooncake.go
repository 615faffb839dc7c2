package datasets

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

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
		scan: func(s *scan) error {
			return jsonLines(s, func(in *mooncakeLine) (*trace.Record, string) { return mooncakeRow(s, in) })
		},
	}
}

type mooncakeLine struct {
	Timestamp    jsontext.Value `json:"timestamp"`
	InputLength  *int64         `json:"input_length"`
	OutputLength *int64         `json:"output_length"`
	HashIDs      blockIDs       `json:"hash_ids"`
	SessionID    string         `json:"session_id"`
}

func mooncakeRow(s *scan, in *mooncakeLine) (*trace.Record, string) {
	rec, msg := arrivalAndLengths(s, in.Timestamp, in.InputLength, in.OutputLength)
	if rec == nil {
		return nil, msg
	}
	if in.SessionID != "" {
		rec.SessionID = s.pseudonym(in.SessionID)
	}
	if msg := setBlocks(rec, in.HashIDs, mooncakeBlock); msg != "" {
		return nil, msg
	}
	return rec, ""
}

// arrivalAndLengths is what the JSON formats have in common.
func arrivalAndLengths(s *scan, timestamp jsontext.Value, input, output *int64) (*trace.Record, string) {
	if timestamp == nil {
		return nil, "no timestamp"
	}
	for _, msg := range []string{errCount("input_length", input), errCount("output_length", output)} {
		if msg != "" {
			return nil, msg
		}
	}
	// Each time is rounded, never a gap, so nothing drifts.
	ns, ok := decimalNs(string(timestamp), s.unit)
	if !ok || ns < 0 {
		return nil, fmt.Sprintf("timestamp %s: want a number, 0 or more", clip(string(timestamp)))
	}
	return lengths(ns, *input, *output), ""
}

// setBlocks gives a record its prefix blocks, the last of which may be
// partial; a number of them that does not fit the input is a bad row.
func setBlocks(rec *trace.Record, ids []int64, size int64) string {
	if ids == nil {
		return ""
	}
	input := *rec.InputTokens
	if want := (input + size - 1) / size; int64(len(ids)) != want {
		return fmt.Sprintf("%d hash_ids for %d tokens, want %d blocks of %d", len(ids), input, want, size)
	}
	rec.PrefixBlockSize, rec.PrefixBlockUnit = new(int32(size)), new(trace.UnitToken)
	rec.PrefixBlockIDs = ids
	return ""
}
