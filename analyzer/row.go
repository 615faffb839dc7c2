package analyzer

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// row is the part of a Record that a run is judged on. It repeats the columns
// of trace.Result that decide the class, since the headers beside them cost
// more than all others; chunks are never read.
type row struct {
	trace.Timing

	StartUnixNs   int64                `parquet:"start_unix_ns,delta"`
	Level         *int32               `parquet:"level"`
	Faults        []string             `parquet:"faults,list,optional"`
	Outcome       trace.Outcome        `parquet:"outcome,dict"`
	OutcomeDetail *trace.OutcomeDetail `parquet:"outcome_detail,dict"`
	StatusCode    *int32               `parquet:"status_code"`
	FinishReasons []string             `parquet:"finish_reasons,list,optional"`
	ErrorType     *string              `parquet:"error_type,dict"`
	ErrorCode     *string              `parquet:"error_code,dict"`
	InputTokens   *int64               `parquet:"input_tokens"`
	OutputTokens  *int64               `parquet:"output_tokens"`
	MaxTokens     *int32               `parquet:"max_tokens"`
	ConnReused    *bool                `parquet:"conn_reused"`
	N             *int32               `parquet:"n"`
	Stream        bool                 `parquet:"stream"`
}

// result is the row's ending with the methods of trace.Result.
func (r *row) result() trace.Result {
	return trace.Result{
		Outcome: r.Outcome, OutcomeDetail: r.OutcomeDetail, StatusCode: r.StatusCode,
		FinishReasons: r.FinishReasons, ErrorType: r.ErrorType, ErrorCode: r.ErrorCode,
	}
}

// latency returns the row's value of a latency metric; ok is false where it
// was not measured.
func (r *row) latency(metric string) (d time.Duration, ok bool) {
	switch metric {
	case "ttft_user":
		return r.TTFTUser()
	case "ttft_sent":
		return r.TTFTSent()
	case "ttft_visible":
		return r.TTFTVisible()
	case "tpot":
		return trace.TPOT(&r.Timing, &trace.Usage{OutputTokens: r.OutputTokens}, r.N)
	case "max_gap":
		return r.MaxGap()
	case "e2e":
		return r.E2E()
	}
	return 0, false
}
