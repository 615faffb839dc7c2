package tracedir

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	partSuffix = ".parquet"
	tmpSuffix  = ".tmp"
)

// partName names a part: who wrote it and which one-second (or, when not
// live, sequential) parts are in it, both ends included.
type partName struct {
	host        string
	first, last int
}

// String is the file's name.
func (n partName) String() string {
	return fmt.Sprintf("part-%s-%09d-%09d%s", n.host, n.first, n.last, partSuffix)
}

// within reports whether every row of n is in o as well.
func (n partName) within(o partName) bool {
	return n.host == o.host && n.first >= o.first && n.last <= o.last
}

// overlaps reports whether n and o share rows.
func (n partName) overlaps(o partName) bool {
	return n.host == o.host && n.first <= o.last && o.first <= n.last
}

// compare orders names so that a part precedes those inside its range.
func (n partName) compare(o partName) int {
	return cmp.Or(cmp.Compare(n.first, o.first), strings.Compare(n.host, o.host), cmp.Compare(o.last, n.last))
}

// parsePartName reads a file's name; ok is false where it is not a part's.
func parsePartName(file string) (n partName, ok bool) {
	base, ok := strings.CutSuffix(file, partSuffix)
	if !ok {
		return n, false
	}
	fields := strings.Split(base, "-")
	if len(fields) < 4 || fields[0] != "part" {
		return n, false
	}
	end := len(fields) - 2
	n.host = strings.Join(fields[1:end], "-")
	var err1, err2 error
	n.first, err1 = strconv.Atoi(fields[end])
	n.last, err2 = strconv.Atoi(fields[end+1])
	ok = err1 == nil && err2 == nil && n.first >= 0 && n.first <= n.last && n.String() == file
	return n, ok
}

var hostPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
})

// checkHost refuses a host that cannot stand in a file's name.
func checkHost(host string) error {
	if !hostPattern().MatchString(host) {
		return fmt.Errorf("host %q of part names: use 1 to 64 letters, digits, '_', '.' or '-'", host)
	}
	return nil
}

// sortNames orders names by what they cover.
func sortNames(names []partName) { slices.SortFunc(names, partName.compare) }

func itoa(n int) string { return strconv.Itoa(n) }
