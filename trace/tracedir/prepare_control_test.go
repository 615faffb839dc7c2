package tracedir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestForceOverControlArm: an experiment's run is replaced with its control arm.
func TestForceOverControlArm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	for _, at := range []string{path, filepath.Join(path, controlDir)} {
		w, err := Create(at, sealed(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Create(path, sealed(), Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := os.Stat(filepath.Join(path, controlDir)); err == nil {
		t.Error("the old control arm is still there")
	}
}
