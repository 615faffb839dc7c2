package datasets

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// burstGPT reads the BurstGPT traces (github.com/HPMLL/BurstGPT, README.md):
// CSV of 6 columns, or 8 with session and elapsed time. Times are seconds
// since midnight of the first day. No answer tokens means that the request
// failed, without saying how. The elapsed time is that of the whole answer.
func burstGPT() format {
	return format{
		name:       "burstgpt",
		license:    "CC BY 4.0; Y. Wang et al., BurstGPT, KDD 2025",
		timeBase:   trace.TimeRelative,
		resolution: time.Second,
		unit:       "s",
		assumed:    "the source does not name the API: streamed openai.chat is assumed; rows without answer tokens are failed_unknown",
		scan:       scanBurstGPT,
	}
}

func scanBurstGPT(s *scan) error {
	columns := csvColumns{
		must: []string{"Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"},
		may:  []string{"Session ID", "Elapsed time"},
	}
	return s.csv(columns, func(f []string) (*trace.Record, string) {
		at, ok := decimalNs([]byte(f[0]), s.unit)
		if !ok || at < 0 {
			return nil, fmt.Sprintf("Timestamp %q: want seconds, 0 or more", clip(f[0]))
		}
		r, msg := countedRow(s, at, "Request tokens", f[2], "Response tokens", f[3])
		if r == nil {
			return nil, msg
		}
		if *r.OutputTokens == 0 {
			r.Outcome = trace.OutcomeFailedUnknown
		}
		r.RequestModel = s.word([]byte(f[1]))
		if f[6] != "" {
			r.SessionID = s.pseudonym([]byte(f[6]))
		}
		if f[7] != "" {
			elapsed, ok := decimalNs([]byte(f[7]), time.Second)
			if !ok || elapsed < 0 {
				return nil, fmt.Sprintf("Elapsed time %q: want seconds, 0 or more", clip(f[7]))
			}
			r.TEndUs = s.number(elapsed / 1000)
		}
		return r, ""
	})
}
