package replayer

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// The stub's stream is what the roofline takes it for: in virtual time the
// client adds nothing to it.
func TestStubIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &rung{}
		cfg := one(50, time.Second)
		cfg.Drain = 5 * time.Second
		res, err := replayTo(t, t.Context(), &stub{answer: func(w http.ResponseWriter, r *http.Request) { answerStub(w, r) }}, cfg, stubTrace(50), out)
		if err != nil || res.Outcomes[trace.OutcomeOK] != 50 {
			t.Fatalf("outcomes %v, error %v", res, err)
		}
		if off := out.offset(); off == nil || *off != 0 {
			t.Errorf("offset %v, want 0", off)
		}
	})
}

func TestRooflineSaysWhatHeld(t *testing.T) {
	for want, r := range map[string]Roofline{
		"does not hold even 50 streams/s: lag": {Limit: []string{"lag"}},
		"at the next load: cpu":                {StreamsPerS: 800, Limit: []string{"cpu"}},
		"40000 events/s":                       {StreamsPerS: 800},
		"nothing held it back yet":             {StreamsPerS: 6400},
	} {
		if got := r.String(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
