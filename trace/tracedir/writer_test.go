package tracedir

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

func TestWriteAndRead(t *testing.T) {
	for _, live := range []bool{false, true} {
		path := t.TempDir()
		w, err := Create(path, sealed(), Options{Live: live})
		if err != nil {
			t.Fatal(err)
		}
		want := makeRecords(rand.New(rand.NewPCG(1, 1)), 300)
		for _, r := range want {
			if err := w.Write(clone(r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		d := open(t, path)
		if diff := cmp.Diff(want, collect[trace.Record](t, d), asRead); diff != "" {
			t.Errorf("live=%v: records changed:\n%s", live, diff)
		}
		if got := d.Warnings(); len(got) != 0 {
			t.Errorf("live=%v: warnings %q", live, got)
		}
	}
}
