package recorder

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// tlsShared is what all TLS connections of a recording share.
type tlsShared struct {
	keys     []*KeyLog
	sessions tlsSessions
	free     tlsBuffers
	out      []byte
	conns    int64
	// reasons counts the connections that were not read, or not to their end.
	reasons map[string]int64
}

// keyHolder is a source that brings secrets with it.
type keyHolder interface{ embeddedKeys() *KeyLog }

func newTLSShared(log *KeyLog, src Source) tlsShared {
	s := tlsShared{reasons: make(map[string]int64)}
	if log != nil {
		s.keys = append(s.keys, log)
	}
	if h, ok := src.(keyHolder); ok {
		s.keys = append(s.keys, h.embeddedKeys())
	}
	return s
}

// hopeless: no secret has come, nor is there a file in which one may.
func (s *tlsShared) hopeless() bool {
	for _, k := range s.keys {
		if k.path != "" || len(k.sessions) > 0 {
			return false
		}
	}
	return true
}

func (s *tlsShared) find(label secretLabel, random clientRandom, n int) (secret, bool) {
	for _, k := range s.keys {
		if key, ok := k.find(label, random, n); ok {
			return key, true
		}
	}
	return secret{}, false
}

// lookAgain makes the next secret that is missed one to look for at once.
func (s *tlsShared) lookAgain() {
	for _, k := range s.keys {
		k.checked = time.Time{}
	}
}

// scratch is the space that records are opened into, one at a time.
func (s *tlsShared) scratch() []byte {
	if s.out == nil {
		s.out = make([]byte, 0, maxTLSRecord)
	}
	return s.out
}

// note counts a connection by the reason for which it was not read. The names
// of suites are many, so that their number is bounded.
func (s *tlsShared) note(reason string) {
	if len(s.reasons) >= 32 && s.reasons[reason] == 0 {
		reason = "other reasons"
	}
	s.reasons[reason]++
}

func (s *tlsShared) warnings() []string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(s.reasons)) {
		list = append(list, fmt.Sprintf("%d TLS connections were not read, or not to their end: %s", s.reasons[reason], reason))
	}
	for _, k := range s.keys {
		list = append(list, k.warnings(s.conns)...)
	}
	return list
}
