package hostcheck

import (
	"strconv"
	"strings"
)

// Version is a kernel's version; the zero value is unknown.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads the numbers at the start of a release such as
// 6.1.0-18-amd64; without two of them ok is false.
func ParseVersion(release string) (v Version, ok bool) {
	numbers := strings.SplitN(release, ".", 3)
	if len(numbers) < 2 {
		return v, false
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i == len(numbers) {
			break
		}
		digits := numbers[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil && i < 2 {
			return Version{}, false
		}
		*to = n
	}
	return v, true
}

// AtLeast reports whether the version is major.minor or later.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// hasUprobeMulti: the link came with 6.6.
func (h *Host) hasUprobeMulti() bool {
	if h.UprobeMulti != nil {
		return *h.UprobeMulti
	}
	v, _ := ParseVersion(h.Release)
	return v.AtLeast(6, 6)
}

// uretprobeKills reports whether a probe on a function's return may kill a
// process that has a seccomp filter: from 6.11 on x86 such a probe is a system
// call, which filters that do not know it answer with death; 6.14 lets it pass
// (and so do later updates of 6.12 and 6.13, which a release does not tell).
func (h *Host) uretprobeKills() bool {
	v, _ := ParseVersion(h.Release)
	return h.Arch == "amd64" && v.AtLeast(6, 11) && !v.AtLeast(6, 14)
}
