package sanitizer

import (
	"fmt"
	"maps"
	"slices"
)

// bodyError says why nothing is kept of a body, and where in it. It holds no
// byte of it.
type bodyError struct {
	reason refusal
	// offset in bytes from the start of the body.
	offset int64
}

// refusal names why a body is not kept; it is also a rule of the provenance.
type refusal string

const (
	refusedSyntax    refusal = "invalid_json" // NaN, a comment, a missing bracket
	refusedDuplicate refusal = "duplicate_name"
	refusedDepth     refusal = "too_deep"
	refusedMedia     refusal = "unknown_media_type"
	refusedCoding    refusal = "unknown_content_coding"
	refusedMultipart refusal = "broken_multipart"
)

// Error names reason and offset.
func (e *bodyError) Error() string {
	return fmt.Sprintf("read body: %s at byte %d", e.reason, e.offset)
}

// refusals counts the bodies of which nothing is kept, by reason, and
// remembers where the first one broke.
type refusals map[refusal]struct {
	n     int64
	first int64
}

func (r refusals) add(e *bodyError) {
	count, seen := r[e.reason]
	if !seen {
		count.first = e.offset
	}
	count.n++
	r[e.reason] = count
}

// warnings tells the counts.
func (r refusals) warnings() (list []string) {
	for _, reason := range slices.Sorted(maps.Keys(r)) {
		list = append(list, fmt.Sprintf("%d bodies were dropped: %s (the first at its byte %d)", r[reason].n, reason, r[reason].first))
	}
	return list
}
