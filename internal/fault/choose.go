package fault

import (
	"path"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// Exchange says which exchange a request is, so that faults can be chosen for
// it, and then what was done to it. It is used by one goroutine at a time.
type Exchange struct {
	// ID decides, with the seed, which faults are chosen: equal ids are faulted
	// alike in every arm.
	ID string
	// Session is the conversation it belongs to; "" = none.
	Session string
	// At is when it was due: since a level's measured start, or since a proxy's.
	At time.Duration
	// Kind, Path (without query) and Model are what a target selects by.
	Kind  trace.APIKind
	Path  string
	Model string
	// Reset is called before an answer's body ends in a reset; nil = nothing.
	Reset func()

	faults []string
	held   time.Duration
	sent   int64
}

// Faults are the names of the faults that changed the exchange, in the order
// in which they did; empty = none. A fault that was chosen but found nothing to
// act on, such as a stream that ended before its cut, is not among them.
func (x *Exchange) Faults() []string {
	if x.faults == nil {
		return []string{}
	}
	return x.faults
}

// Held is the time for which the request was held back before its first send.
func (x *Exchange) Held() time.Duration { return x.held }

// SentBytes is the length of the request's body where a fault changed it; 0 =
// none did.
func (x *Exchange) SentBytes() int64 { return x.sent }

// matches reports whether a fault is for the exchange, whatever its share.
func (t *Target) matches(x *Exchange) bool {
	if t.APIKind != "" && t.APIKind != x.Kind || t.Model != "" && t.Model != x.Model {
		return false
	}
	if t.Path == "" {
		return true
	}
	ok, err := path.Match(t.Path, x.Path)
	return ok && err == nil
}

// chosen reports whether a fault falls on an exchange that it is for.
func (s *Spec) chosen(seed uint64, x *Exchange) bool {
	if s.Target.Sessions > 0 && s.Target.Sessions < 1 {
		session := x.Session
		if session == "" {
			session = x.ID
		}
		if !(unit01(seed, saltSession, s.Name, session) < s.Target.Sessions) {
			return false
		}
	}
	return s.Share == 1 || unit01(seed, saltChoice, s.Name, x.ID) < s.Share
}

// Salts keep the uses of one seed apart.
const (
	saltChoice uint64 = iota + 1
	saltSession
	saltDraw
)

// unit01 hashes a seed and two names to [0, 1): FNV-1a over both, finished by
// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), so that all of its bits
// depend on all of theirs, which a comparison with a share needs.
func unit01(seed, salt uint64, a, b string) float64 {
	return float64(hash(seed, salt, a, b)>>11) / (1 << 53)
}

func hash(seed, salt uint64, a, b string) uint64 {
	h := scramble(seed) ^ scramble(salt)
	for _, s := range [...]string{a, b} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 0x100000001b3
		}
		h = (h ^ 0x100) * 0x100000001b3 // what a byte cannot be: ends a name
	}
	return scramble(h)
}

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
