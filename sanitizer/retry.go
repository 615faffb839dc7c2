package sanitizer

import (
	"hash/maphash"
	"time"

	"github.com/lambdac/lambdac/trace"
)

const (
	// retryWindow is how long after a request an equal one counts as its
	// retry.
	retryWindow = 60 * time.Second
	maxRetries  = 1 << 14
)

// retries finds requests with the body of one before. The hash is keyed with
// a seed that lives in memory only, and is never written.
type retries struct {
	seed maphash.Seed
	seen *recent[uint64, attempt]
}

// attempt is the latest request with one body.
type attempt struct {
	requestID string
	start     int64
	number    int32
}

func newRetries() *retries {
	return &retries{seed: maphash.MakeSeed(), seen: newRecent[uint64, attempt](maxRetries)}
}

// mark sets RetryOf and Attempt where a request of the same tenant to the same
// path had the same body at most a window before. Attempt counts from 2 there;
// a first request has none.
func (r *retries) mark(rec *trace.Record, tenant string, body []byte) {
	if len(body) == 0 {
		return
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, part := range [...]string{rec.HostPseudonym, rec.PathTemplate, tenant} {
		h.WriteString(part)
		h.WriteByte(0)
	}
	h.Write(body)
	now := attempt{requestID: rec.RequestID, start: rec.StartUnixNs, number: 1}
	before, ok := r.seen.get(h.Sum64())
	switch age := time.Duration(now.start - before.start); {
	case !ok, age > retryWindow:
	case age < 0: // ended before one that began earlier: not its retry
		return
	default:
		now.number = before.number + 1
		rec.RetryOf, rec.Attempt = &before.requestID, &now.number
	}
	r.seen.put(h.Sum64(), now)
}
