package fault

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var http429 = kind{
	layer: Integration, name: "http-429",
	about: "a refusal by a limit of requests; the service is not asked",
	params: []param{
		{name: "retry-after", unit: unitDuration, def: "1s", about: "what Retry-After says, in whole seconds"},
	},
	leaves: answersInstead, hidden: inner,
	make: makeHTTP429,
}

var http5xx = kind{
	layer: Integration, name: "http-5xx",
	about: "a failure of the server; the service is not asked",
	params: []param{
		{name: "status", unit: unitCount, def: "500", low: 500, high: 599, about: "the status, 500 to 599"},
	},
	leaves: answersInstead, hidden: inner,
	make: makeHTTP5xx,
}

func answersInstead(*Spec) string { return "it answers in place of the service" }

func makeHTTP429(s *Spec) action {
	after := strconv.FormatInt(int64(math.Ceil(s.duration("retry-after").Seconds())), 10)
	return func(c *call, _ sender) (*http.Response, error) {
		resp := c.answer(http.StatusTooManyRequests, "rate_limit_error")
		resp.Header.Set("Retry-After", after)
		return resp, nil
	}
}

func makeHTTP5xx(s *Spec) action {
	status := s.count("status")
	return func(c *call, _ sender) (*http.Response, error) { return c.answer(status, "server_error"), nil }
}

// answer is an answer in place of the service's, with an error that clients of
// all families read.
func (c *call) answer(status int, kind string) *http.Response {
	c.acted()
	c.dropRequest()
	body := errorObject(kind)
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: c.req,
		Header: http.Header{
			"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))},
			"Date": {time.Now().UTC().Format(http.TimeFormat)},
		},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
}

// errorObject is an error as most services write it.
func errorObject(kind string) string {
	return `{"error":{"message":"injected fault","type":"` + kind + `","param":null,"code":null}}`
}
