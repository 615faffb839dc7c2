package tracedir

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
)

// TestFullFileSystem does the same on a file system that is really full.
func TestFullFileSystem(t *testing.T) {
	testenv.Root(t)
	path := t.TempDir()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=900k"); err != nil {
		testenv.Missing(t, "permission to mount a tmpfs", "run the test with CAP_SYS_ADMIN")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, 0); err != nil {
			t.Error(err)
		}
	})
	w, err := Create(filepath.Join(path, "trace"), sealed(), Options{MaxPartBytes: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	fillDisk(t, filepath.Join(path, "trace"), w, false)
}
