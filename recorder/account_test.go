package recorder

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWindows: one row a second in which something happened; the sums balance.
func TestWindows(t *testing.T) {
	var s script
	k := s.connect(1, 0)
	k.client(100*ms, get("/1"))
	k.server(2500*ms, ok("1"))
	k.client(2600*ms, get("/2"))
	got, rep := s.run(t, Config{})
	type row struct{ At, Seen, Written, Open int64 }
	var rows []row
	for _, w := range got.windows {
		rows = append(rows, row{(w.WindowStartUnixNs - captureStart) / 1e9, w.ExchangesSeen, w.ExchangesWritten, w.OpenAtEnd})
	}
	if diff := cmp.Diff([]row{{0, 1, 0, 1}, {2, 1, 2, 0}}, rows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	check(t, "first", rep.FirstUnixNs, captureStart)
	check(t, "last", rep.LastUnixNs, captureStart+int64(2600*ms))
}
