package recorder

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// summary is an exchange in one line: method, status, outcome and detail,
// sizes of the request's and the answer's body.
func summary(x *trace.Exchange) string {
	r := x.Record
	outcome := string(r.Outcome)
	if r.OutcomeDetail != nil {
		outcome += "/" + string(*r.OutcomeDetail)
	}
	return fmt.Sprintf("%s %s %s %d %d", x.Method, deref(r.StatusCode), outcome, r.ReqWireBytes, r.RespBodyBytes)
}

func summaries(list []*trace.Exchange) []string {
	var lines []string
	for _, x := range list {
		lines = append(lines, summary(x))
	}
	return lines
}

// TestPublicCaptures checks captures of the Zeek test suite against the
// answers that Zeek's baselines and tshark give for them (listed with the
// samples).
func TestPublicCaptures(t *testing.T) {
	dir := filepath.Join(testenv.Samples(t), "public", "pcap")
	rows := []struct {
		file     string
		want     []string
		unpaired int64
		faults   map[string]int64
	}{
		{"100-continue", []string{"POST 200 ok 2001 60731"}, 0, nil},
		{"pipelined-requests", []string{
			"GET 200 ok 0 2675", "GET 200 ok 0 21421", "GET 200 ok 0 94",
			"GET 200 ok 0 2349", "GET 200 ok 0 27579",
		}, 0, nil},
		{"entity_gap", []string{"GET 200 cut_by_capture/gap 0 3257"}, 0, nil},
		{"zero-length-bodies-with-drops", []string{
			"GET 302 ok 0 0", "GET 200 ok 0 0", "GET 302 ok 0 0", "GET 200 ok 0 0",
			"GET 200 ok 0 0", "GET 200 ok 0 0", "GET 200 ok 0 0",
		}, 1, nil},
		{"docker-http-upgrade", []string{
			"HEAD 200 ok 0 0", "POST 201 ok 1719 88", "POST 101 ok 0 0",
			"POST 204 ok 0 0", "POST 200 ok 0 0", "POST 200 ok 0 30",
		}, 0, nil},
		{"missing-zlib-header", []string{"GET 200 ok 0 13249", "GET 200 ok 0 13249"}, 0, nil},
		{"get_nosyn", []string{"GET 200 ok 0 4705"}, 0, nil},
		{"connect-with-header", []string{"CONNECT 200 ok 0 0"}, 0, nil},
		// The two bytes that Content-Length promises are in the head's packet.
		{"http-large-gap", []string{"GET 206 ok 0 2"}, 0, nil},
		{"http-vlan-0", []string{"GET 200 ok 0 4705"}, 0, nil},
		{"mixed-vlan-mpls", []string{"GET 200 ok 0 9130", "GET NULL cut_by_capture 0 0"}, 0, map[string]int64{faultVersion: 1, faultStart: 1}},
		{"tcp-http-with-padding", []string{"GET 200 ok 0 6"}, 0, nil},
		{"tcp-fast-open", []string{"GET 302 ok 0 0", "GET 200 ok 0 1158"}, 0, nil},
		{"missing-syn", []string{"GET 200 ok 0 9130"}, 0, nil},
		{"snap-tcp", []string{"GET 200 ok 0 12"}, 0, nil},
		{"reply-ping-coalesced", []string{"GET 101 ok 0 0"}, 0, nil},
		{"261-01-chunk_2pow64_overflow", []string{"POST NULL cut_by_capture 0 0"}, 0, map[string]int64{faultChunk: 1}},
		{"261-03-cl_negative", []string{"POST NULL cut_by_capture 0 0"}, 0, map[string]int64{faultLength: 1}},
		{"261-08-leading_zeros", []string{"POST NULL cut_by_capture 0 0"}, 0, map[string]int64{faultLength: 1}},
		{"261-10-multi_value_te", []string{"POST NULL cut_by_capture 0 0"}, 0, map[string]int64{faultTransfer: 1}},
	}
	for _, row := range rows {
		t.Run(row.file, func(t *testing.T) {
			got, rep := record(t, Config{}, filepath.Join(dir, row.file+".pcap"))
			if diff := cmp.Diff(row.want, summaries(got.list)); diff != "" {
				t.Errorf("exchanges (-want +got):\n%s", diff)
			}
			if row.faults == nil {
				row.faults = map[string]int64{}
			}
			if diff := cmp.Diff(row.faults, rep.Faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			check(t, "unpaired", rep.Totals.Unpaired, row.unpaired)
		})
	}
}

// TestPublicMethods reads 49 connections of odd and broken requests: what is
// HTTP is paired with its own answer, the rest is counted and invents nothing.
func TestPublicMethods(t *testing.T) {
	got, rep := record(t, Config{}, filepath.Join(testenv.Samples(t), "public", "pcap", "methods.pcap"))
	for _, x := range got.list {
		if x.Record.Outcome != trace.OutcomeOK && x.Record.Outcome != trace.OutcomeHTTPError {
			t.Errorf("%s", summary(x))
		}
	}
	check(t, "exchanges", len(got.list), 10)
	if rep.Totals.LostByReason["blind:unknown_protocol"] == 0 {
		t.Error("broken requests are not counted")
	}
}

// TestBlindCaptures: what is not HTTP in the clear is counted whole, and no
// exchange is invented from it.
func TestBlindCaptures(t *testing.T) {
	dir := filepath.Join(testenv.Samples(t), "captures")
	rows := map[string]string{
		"g2-http2-tls13": "blind:tls", "g3-http2-tls12": "blind:tls",
		"h1-http1-tls13": "blind:tls", "h2-http1-tls12": "blind:tls",
	}
	for file, reason := range rows {
		got, rep := record(t, Config{}, filepath.Join(dir, file+".pcap"))
		check(t, file+" exchanges", len(got.list), 0)
		check(t, file+" "+reason, rep.Totals.LostByReason[reason], rep.Totals.BytesSeen)
	}
}
