package datasets

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// mooncakeBlock is the number of tokens that one hash id stands for.
const mooncakeBlock = 512

// mooncake reads the trace format of the Mooncake FAST'25 release
// (github.com/kvcache-ai/Mooncake, FAST25-release/README.md): JSON lines with
// an arrival in milliseconds, token counts, and chained ids of 512-token
// blocks of which the last may be partial. Some of its traces lie on a grid
// of 3 s; the importer measures the grid.
func mooncake() format {
	return format{
		name:     "mooncake",
		license:  "Apache-2.0; Mooncake FAST'25 trace release, kvcache-ai",
		timeBase: trace.TimeRelative,
		unit:     "ms",
		assumed:  assumedChat,
		scan:     scanMooncake,
	}
}

type mooncakeLine struct {
	Timestamp    *float64 `json:"timestamp"`
	InputLength  *int64   `json:"input_length"`
	OutputLength *int64   `json:"output_length"`
	HashIDs      []int64  `json:"hash_ids"`
}

func scanMooncake(r io.Reader, unit time.Duration, row func(int64, *trace.Record) error, bad func(int64, string) error) error {
	return scanLines(r, func(line int64, text string) error {
		var in mooncakeLine
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			return bad(line, fmt.Sprintf("no JSON object of this format: %v", err))
		}
		rec, msg := mooncakeRow(&in, unit)
		if rec == nil {
			return bad(line, msg)
		}
		return row(line, rec)
	}, bad)
}

func mooncakeRow(in *mooncakeLine, unit time.Duration) (*trace.Record, string) {
	switch {
	case in.Timestamp == nil:
		return nil, "no timestamp"
	case in.InputLength == nil:
		return nil, "no input_length"
	case in.OutputLength == nil:
		return nil, "no output_length"
	case *in.InputLength < 0 || *in.InputLength > math.MaxInt32:
		return nil, fmt.Sprintf("input_length %d: want 0 or more", *in.InputLength)
	case *in.OutputLength < 0 || *in.OutputLength > math.MaxInt32:
		return nil, fmt.Sprintf("output_length %d: want 0 or more", *in.OutputLength)
	}
	ns := *in.Timestamp * float64(unit)
	if !(ns >= 0 && ns < math.MaxInt64) {
		return nil, fmt.Sprintf("timestamp %g: want 0 or more", *in.Timestamp)
	}
	// Each time is rounded, never a gap, so nothing drifts.
	rec := lengths(int64(math.Round(ns)), *in.InputLength, *in.OutputLength)
	if in.HashIDs == nil {
		return rec, ""
	}
	if want := (*in.InputLength + mooncakeBlock - 1) / mooncakeBlock; int64(len(in.HashIDs)) != want {
		return nil, fmt.Sprintf("%d hash_ids for %d tokens, want %d blocks of %d", len(in.HashIDs), *in.InputLength, want, mooncakeBlock)
	}
	rec.PrefixBlockSize, rec.PrefixBlockUnit = new(int32(mooncakeBlock)), new(trace.UnitToken)
	rec.PrefixBlockIDs = in.HashIDs
	return rec, ""
}
