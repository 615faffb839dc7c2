package trace

import "time"

// Timing holds the moments of one exchange as offsets in microseconds from
// its start, and the counts without which they cannot be read. nil = the
// moment was not seen, or did not happen.
type Timing struct {
	// TSentUs is the first request byte: 0 in a recording; nil if not sent.
	TSentUs *int64 `parquet:"t_sent_us"`
	// TReqEndUs is the last request byte.
	TReqEndUs *int64 `parquet:"t_req_end_us"`
	// TRespHeadersUs is the end of the final answer's head. It never stands in
	// for the first token: servers send the head when the request is queued.
	TRespHeadersUs *int64 `parquet:"t_resp_headers_us"`
	// TFirstEventUs is the first event with data
	// (~ gen_ai.response.time_to_first_chunk).
	TFirstEventUs *int64 `parquet:"t_first_event_us"`
	// TFirstTokenUs is the first generated output of any kind.
	TFirstTokenUs *int64 `parquet:"t_first_token_us"`
	// TFirstVisibleUs is the first generated output less reasoning.
	TFirstVisibleUs *int64 `parquet:"t_first_visible_us"`
	// TLastTokenUs is the last generated output.
	TLastTokenUs *int64 `parquet:"t_last_token_us"`
	// TEndUs is the last byte of the answer.
	TEndUs *int64 `parquet:"t_end_us"`
	// EventCount is the number of events with data, the end mark included.
	EventCount *int32 `parquet:"event_count"`
	// ChunkCount is the number of events that carry generated output, or an
	// empty delta whose usage grew.
	ChunkCount *int32 `parquet:"chunk_count"`
	// FirstChunkTokens is the number of tokens in the first chunk, where the
	// service says so.
	FirstChunkTokens *int32 `parquet:"first_chunk_tokens"`
	// MaxGapUs is the longest wait between two generated chunks.
	MaxGapUs *int64 `parquet:"max_gap_us"`
}

// TTFTUser is the time to first token as a user lives it: from when the
// request was due (start) to the first generated output, text, reasoning or
// tool-call arguments. It is the latency that λ_SLO is judged on. ok is false
// where no token was seen.
func (t *Timing) TTFTUser() (d time.Duration, ok bool) { return offset(t.TFirstTokenUs) }

// TTFTSent is the time to first token from the actual send:
// t_first_token − t_sent. The difference to [Timing.TTFTUser] is the client's
// own delay.
func (t *Timing) TTFTSent() (time.Duration, bool) { return between(t.TSentUs, t.TFirstTokenUs) }

// TTFTVisible is the time from start to the first output that a user sees,
// i.e. not reasoning.
func (t *Timing) TTFTVisible() (time.Duration, bool) { return offset(t.TFirstVisibleUs) }

// E2E is the time from start to the last byte of the answer.
func (t *Timing) E2E() (time.Duration, bool) { return offset(t.TEndUs) }

// Lag is the time from when the request was due to when it was sent.
func (t *Timing) Lag() (time.Duration, bool) { return offset(t.TSentUs) }

// MaxGap is the longest wait between two generated chunks.
func (t *Timing) MaxGap() (time.Duration, bool) { return offset(t.MaxGapUs) }

// TPOT is the time per output token after the first chunk:
//
//	(t_last_token − t_first_token) ÷ (output_tokens − tokens in the first chunk)
//
// The first chunk counts as one token where the service does not say. ok is
// false where fewer than two chunks carried output, where no token is left to
// divide by, where the tokens were not counted, or where choices > 1, since
// then streams interleave. choices is gen_ai.request.choice.count, nil = 1.
func TPOT(t *Timing, u *Usage, choices *int32) (time.Duration, bool) {
	if choices != nil && *choices > 1 {
		return 0, false
	}
	if t.ChunkCount == nil || *t.ChunkCount < 2 || u.OutputTokens == nil {
		return 0, false
	}
	span, ok := between(t.TFirstTokenUs, t.TLastTokenUs)
	if !ok {
		return 0, false
	}
	first := int64(1)
	if t.FirstChunkTokens != nil {
		first = int64(*t.FirstChunkTokens)
	}
	rest := *u.OutputTokens - first
	if rest <= 0 {
		return 0, false
	}
	return span / time.Duration(rest), true
}

func offset(us *int64) (time.Duration, bool) {
	if us == nil || *us < 0 {
		return 0, false
	}
	return time.Duration(*us) * time.Microsecond, true
}

func between(from, to *int64) (time.Duration, bool) {
	if from == nil || to == nil || *to < *from {
		return 0, false
	}
	return time.Duration(*to-*from) * time.Microsecond, true
}
