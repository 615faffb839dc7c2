package analyzer

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// judgedColumns are the columns that runs and comparisons both judge a request
// by. They repeat those of trace.Result that decide the class, since the headers
// beside them cost more than all others; chunks are never read.
type judgedColumns struct {
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
	OutputTokens  *int64               `parquet:"output_tokens"`
	N             *int32               `parquet:"n"`
}

// result is the request's ending with the methods of trace.Result.
func (c *judgedColumns) result() trace.Result {
	return trace.Result{
		Outcome: c.Outcome, OutcomeDetail: c.OutcomeDetail, StatusCode: c.StatusCode,
		FinishReasons: c.FinishReasons, ErrorType: c.ErrorType, ErrorCode: c.ErrorCode,
	}
}

// tpot is the time per output token; ok is false where it was not measured.
func (c *judgedColumns) tpot() (d time.Duration, ok bool) {
	return trace.TPOT(&c.Timing, &trace.Usage{OutputTokens: c.OutputTokens}, c.N)
}

// row is the part of a Record that a run is judged on.
type row struct {
	judgedColumns

	InputTokens *int64 `parquet:"input_tokens"`
	MaxTokens   *int32 `parquet:"max_tokens"`
	ConnReused  *bool  `parquet:"conn_reused"`
	Stream      bool   `parquet:"stream"`
}

// latency returns the request's value of a latency metric; ok is false where it
// was not measured.
func (c *judgedColumns) latency(metric string) (d time.Duration, ok bool) {
	switch metric {
	case "ttft_user":
		return c.TTFTUser()
	case "ttft_sent":
		return c.TTFTSent()
	case "ttft_visible":
		return c.TTFTVisible()
	case "tpot":
		return c.tpot()
	case "max_gap":
		return c.MaxGap()
	case "e2e":
		return c.E2E()
	}
	return 0, false
}
