package sanitizer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// redacted is the request body that the mode redact leaves.
func redacted(t *testing.T, body string) string {
	t.Helper()
	out := &memory{}
	s := start(t, Config{Mode: trace.ModeRedact, Key: testKey, FeatureShare: 1e-9}, out)
	s.targets.seen = everyTarget()
	if err := s.Take(chat(1, 0, body)); err != nil {
		t.Fatal(err)
	}
	rec := out.records[0]
	if len(rec.Bodies) == 0 || rec.Bodies[0].Side != trace.SideRequest || !json.Valid(rec.Bodies[0].Body) {
		t.Fatalf("body %s: %v", rec.BodyState, rec.Bodies)
	}
	return string(rec.Bodies[0].Body)
}

// ask is a request of one message.
func ask(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"model":"gpt-4o","messages":[{"role":"user","content":` + string(quoted) + `}]}`
}

// What is reported of tools of this field: digit runs that are no cards stay,
// cards go; a card may stand as a number, and an order's number may look like
// one; keys go by their names in every spelling.
func TestReportedCases(t *testing.T) {
	const aws = "Zk1Qw8/rT5yU7iO0pAsDfGhJkLzXcVbNm2345678"
	for _, tc := range []struct {
		name, body string
		gone, kept []string
	}{
		{"epoch milliseconds", ask(`{"at_millis":1789000000007}`), nil, []string{"1789000000007"}},
		{"cards", ask("378282246310005 or 6011 0009 9013 9424"), []string{"378282246310005", "6011 0009 9013 9424"}, []string{" or "}},
		{"a longer run", ask(`{"trace":"17890000000071789000000007"}`), nil, []string{"17890000000071789000000007"}},
		{"a card as a number", ask(`{"pay":4111111111111111}`), []string{"4111111111111111"}, nil},
		{"a card as a number of the API", `{"model":"gpt-4o","messages":[],"seed":4111111111111111,"max_tokens":64}`, []string{"4111111111111111"}, []string{`"max_tokens":64`}},
		{"an order that passes Luhn", ask(`{"order_id":"4539578763621486"}`), nil, []string{"4539578763621486"}},
		{"an order's number", ask(`{"order_id":4539578763621486,"orders":[{"orderId":4539578763621486.0}]}`), nil, []string{`order_id\":4539578763621486,`, "4539578763621486.0"}},
		{"a card with a fraction", ask(`{"pay":[4111111111111111.0,4.111111111111111e15]}`), []string{"4111111111111111", "4.111111111111111e15"}, nil},
		{"cloud keys", ask(`{'secretAccessKey': '` + aws + `'} aws_session_token="` + aws + `"`), []string{aws}, []string{"secretAccessKey", "aws_session_token"}},
		{"a key before a comment that allows it", ask("ghp_16C7e42F292c6912E7710c838347Ae178B4a # gitleaks:allow"), []string{"ghp_16C7e"}, []string{"gitleaks:allow"}},
		{"base64 in base64", ask("ZEdobElHdGxlU0JwY3lCbmFIQmZNVFpETjJVME1rWXlPVEpqTmpreE1rVTNOekV3WXpnek9ETTBOMEZsTVRjNFFqUmg="), []string{"ZEdobElHdGxlU0JwY3lC"}, nil},
	} {
		got := redacted(t, tc.body)
		for _, gone := range tc.gone {
			if strings.Contains(got, gone) {
				t.Errorf("%s: %q is left in %s", tc.name, gone, got)
			}
		}
		for _, kept := range tc.kept {
			if !strings.Contains(got, kept) {
				t.Errorf("%s: %q is gone from %s", tc.name, kept, got)
			}
		}
		if again := redacted(t, tc.body); again != got {
			t.Errorf("%s: %s the first time, %s the second", tc.name, got, again)
		}
	}
}

// A body that came in a coding that nobody could open is dropped, and said so.
func TestUnknownCoding(t *testing.T) {
	for _, mode := range corpusModes {
		x := chat(1, 0, "")
		x.Record.ReqWireBytes = 500
		out := &memory{}
		s := start(t, Config{Mode: mode, Key: testKey, FeatureShare: 1e-9}, out)
		s.targets.seen = everyTarget()
		if err := s.Take(x); err != nil {
			t.Fatal(err)
		}
		rec := out.records[0]
		if rec.BodyState != trace.BodyDroppedUnparsable || !strings.Contains(dump(t, rec), "unknown_content_coding") {
			t.Errorf("%s: body %s, %v", mode, rec.BodyState, rec.Redactions)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(out.manifest.Warnings, "\n"); !strings.Contains(said, "1 bodies were dropped: unknown_content_coding") {
			t.Errorf("%s: warnings %q", mode, said)
		}
	}
}
