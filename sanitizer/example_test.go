package sanitizer_test

import (
	"fmt"

	"github.com/lambdac/lambdac/sanitizer"
	"github.com/lambdac/lambdac/trace"
)

// printer is an Output that prints a few columns.
type printer struct{}

func (printer) Write(r *trace.Record) error {
	fmt.Println(r.Method, r.PathTemplate)
	fmt.Println("authorization:", r.ReqHeaders["authorization"])
	fmt.Println("x-region:", r.ReqHeaders["x-region"])
	fmt.Println("body:", r.BodyState)
	return nil
}

func (printer) WriteFeatures(*trace.Features) error { return nil }

func (printer) WriteCapture(*trace.CaptureWindow) error { return nil }

func (printer) SetManifest(func(*trace.Manifest)) error { return nil }

func Example() {
	policy := sanitizer.DefaultPolicy()
	policy.PathWords = append(policy.PathWords, "internal")
	s, err := sanitizer.New(sanitizer.Config{Policy: policy, Version: "1.0"}, printer{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := &trace.Exchange{
		Record: &trace.Record{}, Method: "GET", Target: "/internal/jobs/4711?token=abc",
		ReqHeader: []trace.Field{{Name: "Authorization", Value: "Bearer abcdef"}, {Name: "X-Region", Value: "north"}},
	}
	if err := s.Take(x); err != nil {
		fmt.Println(err)
	}
	if err := s.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// GET /internal/jobs/{id}
	// authorization: len:13
	// x-region: len:5
	// body: dropped_truncated
}
