package hostcheck

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// memoryFree is what this process may still allocate, in bytes, and what
// bounds it. Ring memory is charged to the control group of the process that
// makes the map (since 5.11, in place of RLIMIT_MEMLOCK).
func memoryFree(root fs.FS) (free *int64, bound string) {
	if kib, err := strconv.ParseInt(strings.TrimSuffix(statusField(text(root, "proc/meminfo"), "MemAvailable"), " kB"), 10, 64); err == nil {
		free, bound = new(kib<<10), "the machine"
	}
	for _, dir := range memoryGroups(root) {
		left, ok := groupFree(root, dir)
		if ok && (free == nil || left < *free) {
			free, bound = &left, "a control group"
		}
	}
	return free, bound
}

// memoryGroups are the folders of the control groups that this process is in,
// of both versions, itself first. In a container the path that the kernel
// tells may be one of the host's, and then the mount's own root is the group.
func memoryGroups(root fs.FS) (dirs []string) {
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount := "sys/fs/cgroup"
		switch {
		case parts[1] == "memory":
			mount += "/memory"
		case parts[0] != "0":
			continue
		}
		for at := path.Join(mount, parts[2]); strings.HasPrefix(at, mount); at = path.Dir(at) {
			dirs = append(dirs, at)
		}
	}
	return dirs
}

// groupFree is what a control group leaves: its limit less its use, without
// the cached files that it would give back. ok is false without a limit.
func groupFree(root fs.FS, dir string) (left int64, ok bool) {
	for _, v := range []struct{ limit, use, cached string }{
		{"memory.max", "memory.current", "inactive_file"},
		{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
	} {
		limit, err := strconv.ParseInt(text(root, dir+"/"+v.limit), 10, 64)
		if err != nil || limit >= 1<<62 { // "max", or version 1's way to say it
			continue
		}
		use, _ := strconv.ParseInt(text(root, dir+"/"+v.use), 10, 64)
		for line := range strings.Lines(text(root, dir+"/memory.stat")) {
			if value, found := strings.CutPrefix(line, v.cached+" "); found {
				cached, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				use -= cached
			}
		}
		return max(0, limit-max(0, use)), true
	}
	return 0, false
}
