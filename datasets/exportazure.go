package datasets

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// exportAzure writes the CSV of [azure2023]: CRLF ends, 7 fraction digits.
func exportAzure(x *export) error {
	rows, err := x.rows()
	if err != nil {
		return err
	}
	if x.dir.Manifest().TimeBase == trace.TimeRelative {
		x.warn("the trace has no dates: it begins at 1970-01-01")
	}
	fmt.Fprint(x.out, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n")
	for _, row := range rows {
		if reason := lacks(row.InputTokens, row.OutputTokens); reason != "" {
			x.leaveOut(reason)
			continue
		}
		if row.StartUnixNs < 0 { // the dialect's dates begin in 1970
			x.leaveOut(noStart)
			continue
		}
		at, ok := x.arrival(row.StartUnixNs)
		if !ok {
			x.leaveOut(noStart)
			continue
		}
		// The first arrival lies on the grid too, so that no sum leaves it.
		first := x.first / 100 * 100
		stamp := time.Unix(0, first+at).UTC().Format("2006-01-02 15:04:05.0000000")
		if _, err := fmt.Fprintf(x.out, "%s,%d,%d\r\n", stamp, *row.InputTokens, *row.OutputTokens); err != nil {
			return err
		}
	}
	return nil
}
