package trace

import (
	"slices"
	"strings"
)

// Outcome is how an exchange ended. One list serves recorder, importers and
// replayer.
type Outcome string

const (
	// OutcomeOK: complete. A stream is complete with its own end mark or a
	// finish reason, anything else with complete HTTP framing. An answer cut
	// by its token limit is ok with that finish reason.
	OutcomeOK Outcome = "ok"
	// OutcomeHTTPError: status 400 or above.
	OutcomeHTTPError Outcome = "http_error"
	// OutcomeErrorInStream: an error after a status below 400.
	OutcomeErrorInStream Outcome = "error_in_stream"
	// OutcomeEmptyStream: status 200 and an end mark, but no generated output.
	OutcomeEmptyStream Outcome = "empty_stream"
	// OutcomeServerAbort: the server ended the answer without its end.
	OutcomeServerAbort Outcome = "server_abort"
	// OutcomeClientAbort: the client went away first.
	OutcomeClientAbort Outcome = "client_abort"
	// OutcomeTimeout: our own deadline passed (replay).
	OutcomeTimeout Outcome = "timeout"
	// OutcomeConnError: no answer at all (replay).
	OutcomeConnError Outcome = "conn_error"
	// OutcomeNotSent: scheduled but never sent (replay).
	OutcomeNotSent Outcome = "not_sent"
	// OutcomeCutByCapture: the capture missed a part; says nothing of the
	// service.
	OutcomeCutByCapture Outcome = "cut_by_capture"
	// OutcomeFailedUnknown: an import that says "failed" and no more.
	OutcomeFailedUnknown Outcome = "failed_unknown"
	// OutcomeUnknown: nothing can be said.
	OutcomeUnknown Outcome = "unknown"
)

// Outcomes lists every outcome, in the order of reports.
var Outcomes = []Outcome{
	OutcomeOK, OutcomeHTTPError, OutcomeErrorInStream, OutcomeEmptyStream,
	OutcomeServerAbort, OutcomeClientAbort, OutcomeTimeout, OutcomeConnError,
	OutcomeNotSent, OutcomeCutByCapture, OutcomeFailedUnknown, OutcomeUnknown,
}

// OutcomeDetail tells kinds of one outcome apart.
type OutcomeDetail string

const (
	// client_abort
	DetailRecorded OutcomeDetail = "recorded" // as the recorded client did
	DetailPlan     OutcomeDetail = "plan"     // replayed cancel
	DetailDrain    OutcomeDetail = "drain"    // still open when the drain ended
	DetailKill     OutcomeDetail = "kill"     // the kill switch
	// timeout
	DetailTTFT  OutcomeDetail = "ttft"
	DetailIdle  OutcomeDetail = "idle"
	DetailTotal OutcomeDetail = "total"
	// conn_error
	DetailRefused     OutcomeDetail = "refused"
	DetailReset       OutcomeDetail = "reset"
	DetailResetReused OutcomeDetail = "reset_reused"
	DetailDNS         OutcomeDetail = "dns"
	DetailTLS         OutcomeDetail = "tls"
	// not_sent
	DetailCap         OutcomeDetail = "cap" // also cut_by_capture: the body cap
	DetailBudget      OutcomeDetail = "budget"
	DetailStop        OutcomeDetail = "stop"
	DetailClientFault OutcomeDetail = "client_fault"
	// DetailSession: the turn before it had not ended when the level's window
	// was over.
	DetailSession OutcomeDetail = "session"
	// cut_by_capture
	DetailGap          OutcomeDetail = "gap"
	DetailLateJoin     OutcomeDetail = "late_join"
	DetailRecorderStop OutcomeDetail = "recorder_stop"
	// server_abort
	DetailFIN OutcomeDetail = "fin"
	DetailRST OutcomeDetail = "rst"
)

// Class is what an outcome means for the error rate.
type Class uint8

const (
	// ClassOK: answered.
	ClassOK Class = iota
	// ClassError: failed by the service.
	ClassError
	// ClassShed: refused because of load (429, 503, 529 and their kin).
	ClassShed
	// ClassExcluded: no verdict on the service; outside "offered".
	ClassExcluded
)

var classNames = [...]string{"ok", "error", "shed", "excluded"}

// String returns the class's name.
func (c Class) String() string { return classNames[c] }

// excludedGRPC are the codes that blame the caller: INVALID_ARGUMENT,
// NOT_FOUND, PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED
// (grpc.github.io/grpc/core/md_doc_statuscodes.html).
var excludedGRPC = []string{"3", "5", "7", "12", "16"}

// overloadTypes are error types in a stream that stand for a refusal by load.
// They are compared in lower case.
var overloadTypes = []string{
	"overloaded_error", "overloaded", "rate_limit_error", "rate_limit_exceeded",
	"resource_exhausted", "server_overloaded", "engine_overloaded_error",
	"throttlingexception", "servicequotaexceededexception", "serviceunavailableexception",
	"service_unavailable_error", "unavailable", "too_many_requests",
}

// Class returns the class of the result; the first that fits:
//
//	excluded  not_sent, cut_by_capture, unknown; client_abort but drain;
//	          conn_error reset_reused; status 4xx but 408 and 429 (gRPC 3, 5,
//	          7, 12, 16); finish reason load or unload
//	shed      status 429, 503, 529; gRPC 8; an overload error in a stream
//	error     all else but ok
//
// offered = ok + error + shed, and the error rate ε = (error + shed) ÷ offered.
func (r *Result) Class() Class {
	switch {
	case r.excluded():
		return ClassExcluded
	case r.shed():
		return ClassShed
	case r.Outcome == OutcomeOK:
		return ClassOK
	default:
		return ClassError
	}
}

// ExcludedByUs reports whether the exchange was excluded because of the load
// generator: not sent, killed, or lost with a reused connection. More than
// 1 % of these makes a level invalid.
func (r *Result) ExcludedByUs() bool {
	return r.Outcome == OutcomeNotSent ||
		r.Outcome == OutcomeClientAbort && r.detail() == DetailKill ||
		r.Outcome == OutcomeConnError && r.detail() == DetailResetReused
}

func (r *Result) excluded() bool {
	switch r.Outcome {
	case OutcomeNotSent, OutcomeCutByCapture, OutcomeUnknown:
		return true
	case OutcomeClientAbort:
		return r.detail() != DetailDrain
	case OutcomeConnError:
		return r.detail() == DetailResetReused
	}
	if s := r.status(); s >= 400 && s < 500 && s != 408 && s != 429 {
		return true
	}
	if r.grpc(excludedGRPC...) {
		return true
	}
	return slices.Contains(r.FinishReasons, "load") || slices.Contains(r.FinishReasons, "unload")
}

func (r *Result) shed() bool {
	if s := r.status(); s == 429 || s == 503 || s == 529 {
		return true
	}
	if r.grpc("8") {
		return true
	}
	if r.Outcome != OutcomeErrorInStream {
		return false
	}
	if r.ErrorType != nil && slices.Contains(overloadTypes, strings.ToLower(*r.ErrorType)) {
		return true
	}
	return r.ErrorCode != nil && slices.Contains([]string{"429", "503", "529"}, *r.ErrorCode)
}

func (r *Result) grpc(codes ...string) bool {
	return r.ErrorType != nil && *r.ErrorType == "grpc" && r.ErrorCode != nil && slices.Contains(codes, *r.ErrorCode)
}

func (r *Result) status() int32 {
	if r.StatusCode == nil {
		return 0
	}
	return *r.StatusCode
}

func (r *Result) detail() OutcomeDetail {
	if r.OutcomeDetail == nil {
		return ""
	}
	return *r.OutcomeDetail
}

// SetOutcome sets outcome and detail; an empty detail is nil.
func (r *Result) SetOutcome(o Outcome, d OutcomeDetail) {
	r.Outcome, r.OutcomeDetail = o, nil
	if d != "" {
		r.OutcomeDetail = &d
	}
}

// Tally counts exchanges by class.
type Tally struct {
	OK       int64 `json:"ok"`
	Errors   int64 `json:"errors"`
	Sheds    int64 `json:"sheds"`
	Excluded int64 `json:"excluded"`
	// ExcludedByUs is the part of Excluded that the load generator caused.
	ExcludedByUs int64 `json:"excluded_by_us"`
}

// Add counts one result.
func (t *Tally) Add(r *Result) {
	switch r.Class() {
	case ClassOK:
		t.OK++
	case ClassError:
		t.Errors++
	case ClassShed:
		t.Sheds++
	case ClassExcluded:
		t.Excluded++
		if r.ExcludedByUs() {
			t.ExcludedByUs++
		}
	}
}

// Offered is ok + errors + sheds.
func (t Tally) Offered() int64 { return t.OK + t.Errors + t.Sheds }

// Failed is errors + sheds, the numerator of ε.
func (t Tally) Failed() int64 { return t.Errors + t.Sheds }

// Total is offered + excluded: every exchange seen.
func (t Tally) Total() int64 { return t.Offered() + t.Excluded }
