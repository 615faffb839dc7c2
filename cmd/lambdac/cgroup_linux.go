package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// cgroupRoot is where control groups are, by convention.
const cgroupRoot = "/sys/fs/cgroup"

// cgroupID is the kernel's number of a control group (v2): that of its
// folder's inode.
func cgroupID(name string) (uint64, error) {
	if !filepath.IsAbs(name) || !exists(name) {
		name = filepath.Join(cgroupRoot, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, fmt.Errorf("find control group: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return 0, fmt.Errorf("control group %q: not a folder", name)
	}
	return st.Ino, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
