package trace

import "testing"

func TestClass(t *testing.T) {
	for _, row := range []struct {
		name   string
		result Result
		detail OutcomeDetail
		want   Class
		byUs   bool
	}{
		{name: "complete", result: Result{Outcome: OutcomeOK, StatusCode: new(int32(200))}, want: ClassOK},
		{name: "cut by its token limit", result: Result{Outcome: OutcomeOK, FinishReasons: []string{"length"}}, want: ClassOK},
		{name: "500", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(500))}, want: ClassError},
		{name: "400 blames the caller", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(400))}, want: ClassExcluded},
		{name: "408", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(408))}, want: ClassError},
		{name: "429", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(429))}, want: ClassShed},
		{name: "503", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(503))}, want: ClassShed},
		{name: "529", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(529))}, want: ClassShed},
		{name: "gRPC resource exhausted", result: Result{Outcome: OutcomeErrorInStream, StatusCode: new(int32(200)), ErrorType: new("grpc"), ErrorCode: new("8")}, want: ClassShed},
		{name: "gRPC unavailable alone", result: Result{Outcome: OutcomeHTTPError, StatusCode: new(int32(200)), ErrorType: new("grpc"), ErrorCode: new("14")}, want: ClassError},
		{name: "gRPC invalid argument", result: Result{Outcome: OutcomeErrorInStream, ErrorType: new("grpc"), ErrorCode: new("3")}, want: ClassExcluded},
		{name: "overload in a stream", result: Result{Outcome: OutcomeErrorInStream, StatusCode: new(int32(200)), ErrorType: new("overloaded_error")}, want: ClassShed},
		{name: "code 429 in a stream", result: Result{Outcome: OutcomeErrorInStream, StatusCode: new(int32(200)), ErrorCode: new("429")}, want: ClassShed},
		{name: "engine died in a stream", result: Result{Outcome: OutcomeErrorInStream, StatusCode: new(int32(200))}, want: ClassError},
		{name: "empty stream", result: Result{Outcome: OutcomeEmptyStream}, want: ClassError},
		{name: "ollama load", result: Result{Outcome: OutcomeEmptyStream, FinishReasons: []string{"load"}}, want: ClassExcluded},
		{name: "server gone", result: Result{Outcome: OutcomeServerAbort}, detail: DetailRST, want: ClassError},
		{name: "client gone", result: Result{Outcome: OutcomeClientAbort}, detail: DetailRecorded, want: ClassExcluded},
		{name: "open when the drain ended", result: Result{Outcome: OutcomeClientAbort}, detail: DetailDrain, want: ClassError},
		{name: "killed by us", result: Result{Outcome: OutcomeClientAbort}, detail: DetailKill, want: ClassExcluded, byUs: true},
		{name: "timeout", result: Result{Outcome: OutcomeTimeout}, detail: DetailTTFT, want: ClassError},
		{name: "refused", result: Result{Outcome: OutcomeConnError}, detail: DetailRefused, want: ClassError},
		{name: "kept-alive connection was closed", result: Result{Outcome: OutcomeConnError}, detail: DetailResetReused, want: ClassExcluded, byUs: true},
		{name: "not sent", result: Result{Outcome: OutcomeNotSent}, detail: DetailCap, want: ClassExcluded, byUs: true},
		{name: "cut by the capture", result: Result{Outcome: OutcomeCutByCapture, StatusCode: new(int32(503))}, detail: DetailGap, want: ClassExcluded},
		{name: "import says failed", result: Result{Outcome: OutcomeFailedUnknown}, want: ClassError},
		{name: "nothing known", result: Result{Outcome: OutcomeUnknown}, want: ClassExcluded},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := row.result
			r.SetOutcome(r.Outcome, row.detail)
			if got := r.Class(); got != row.want {
				t.Errorf("Class() = %v, want %v", got, row.want)
			}
			if got := r.ExcludedByUs(); got != row.byUs {
				t.Errorf("ExcludedByUs() = %v, want %v", got, row.byUs)
			}
		})
	}
}

func TestTallyIdentity(t *testing.T) {
	var tally Tally
	for _, o := range Outcomes {
		r := Result{Outcome: o}
		tally.Add(&r)
	}
	if got, want := tally.Total(), int64(len(Outcomes)); got != want {
		t.Errorf("Total() = %d, want %d: an outcome is in no class or in two", got, want)
	}
	if got := tally.Offered() + tally.Excluded; got != tally.Total() {
		t.Errorf("offered + excluded = %d, want %d", got, tally.Total())
	}
}
