package fault

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCircuitBreaker: from the window's start on the server fails for 10 s and is
// well for 20 s, in turn, and outside the window it is well.
func TestCircuitBreaker(t *testing.T) {
	in, err := New(t.Context(), Config{Faults: parseAll(t, "circuit-breaker,from=5s,for=1m"), Base: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	in.base = seeing(func(*http.Request) { asked++ })
	var got strings.Builder
	for at := range 12 {
		x := &Exchange{ID: fmt.Sprint(at), At: time.Duration(at)*6*time.Second + time.Second}
		req, err := http.NewRequest(http.MethodPost, "http://service/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := in.Do(req, x)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		fmt.Fprintf(&got, " %d", resp.StatusCode)
		if failed := resp.StatusCode == http.StatusServiceUnavailable; failed != (len(x.Faults()) == 1) {
			t.Errorf("at %v: status %d, faults %v", x.At, resp.StatusCode, x.Faults())
		}
	}
	// Requests at 1, 7, 13, … 67 s: failures from 5 to 15 s and from 35 to 45 s.
	if want := " 200 503 503 200 200 200 503 503 200 200 200 200"; got.String() != want || asked != 8 {
		t.Errorf("%s, %d at the service; want%s", got.String(), asked, want)
	}
}
