package sanitizer

import (
	"strconv"
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// identify overwrites the record's identity with keyed pseudonyms.
func (s *Sanitizer) identify(x *trace.Exchange) {
	rec := x.Record
	conn := strconv.FormatUint(x.Conn, 10)
	rec.Identity = trace.Identity{
		RequestID:     s.keys.name("request", strconv.FormatUint(x.Ordinal, 10)),
		Origin:        trace.OriginCapture,
		SessionSource: trace.SessionNone,
	}
	rec.ConnID = new(s.keys.name("conn", conn, x.Client.String(), x.Server.String()))
	rec.StartTS, rec.ThinkTimeUs, rec.ArrivalResolutionNs = 0, nil, 1
	rec.RetryOf, rec.Attempt = nil, nil
	rec.Replay = trace.Replay{}
	rec.Prefix = trace.Prefix{}
	rec.Bodies = nil
}

// bodyValues are the members of a request body that name a source of the
// policy, by path.
type bodyValues map[string][]byte

// readBody finds the members that the policy's sources name, and the cache
// salt, in one pass.
func (s *Sanitizer) readBody(body []byte) bodyValues {
	var found bodyValues
	for name, value := range members(body) {
		inner, wanted := s.bodyNames[string(name)]
		if !wanted {
			continue
		}
		if found == nil {
			found = make(bodyValues)
		}
		found[string(name)] = value
		if !inner {
			continue
		}
		for sub, subValue := range members(value) {
			path := string(name) + "." + string(sub)
			if _, wanted := s.bodyNames[path]; wanted {
				found[path] = subValue
			}
		}
	}
	return found
}

// bodyNames lists the body members of the sources and those around them; true
// = look inside.
func bodyNames(sources []Source) map[string]bool {
	names := map[string]bool{cacheSalt: false}
	for _, src := range sources {
		if src.Place != PlaceBody {
			continue
		}
		outer, _, nested := strings.Cut(src.Name, ".")
		names[outer] = names[outer] || nested
		if nested {
			names[src.Name] = false
		}
	}
	return names
}

// find returns the value of the first source that has one, and its place.
func find(sources []Source, x *trace.Exchange, query string, body bodyValues) (string, Place) {
	for _, src := range sources {
		var value string
		switch src.Place {
		case PlaceHeader:
			value = headerValue(x.ReqHeader, src.Name)
		case PlaceQuery:
			value = paramValue(query, src.Name)
		case PlaceBody:
			value = string(body[src.Name])
		}
		if value = strings.Trim(strings.TrimSpace(value), `"`); value != "" && value != "null" {
			return value, src.Place
		}
	}
	return "", ""
}

// credential is the value without an authentication scheme before it, so that
// a key is one tenant however it is sent.
func credential(value string) string {
	if scheme, rest, ok := strings.Cut(value, " "); ok && isToken(scheme) {
		return strings.TrimSpace(rest)
	}
	return value
}
