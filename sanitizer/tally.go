package sanitizer

import "github.com/lambdac/lambdac/trace"

// tally counts what was removed, per rule and field. Both are words of this
// package, never of the traffic.
type tally struct{ list []trace.Redaction }

func (t *tally) add(rule, field string, n int) {
	if n == 0 {
		return
	}
	for i := range t.list {
		if t.list[i].Rule == rule && t.list[i].Field == field {
			t.list[i].Count += int32(n)
			return
		}
	}
	t.list = append(t.list, trace.Redaction{Rule: rule, Field: field, Count: int32(n)})
}
