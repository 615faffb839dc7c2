package sanitizer

import "github.com/lambdac/lambdac/trace"

const maxTurns = 1 << 15

// sessions finds the turn before a request: by a session id that the traffic
// carries, else by content.
//
// By content, the parent is the request whose whole list of texts is the
// longest proper prefix of this one's, where the first text beyond it is the
// answer: spoken by the assistant or a tool. Comparing whole texts rather than
// 64-byte blocks keeps apart conversations that only share a system prompt,
// and finds prompts shorter than a block.
type sessions struct {
	byContent *recent[block, turn]
	byID      *recent[string, turn]
}

// turn is one request of a session.
type turn struct {
	requestID, sessionID string
	number               int32
	endNs                int64
}

func newSessions() *sessions {
	return &sessions{byContent: newRecent[block, turn](maxTurns), byID: newRecent[string, turn](maxTurns)}
}

// explicit joins the session that the traffic names.
func (s *sessions) explicit(rec *trace.Record, id string, source trace.SessionSource) {
	parent, ok := s.byID.get(id)
	s.byID.put(id, s.join(rec, parent, ok, id))
	rec.SessionSource = source
}

// implicit joins the session of the parent by content, or begins one. It does
// nothing where the request has no texts.
func (s *sessions) implicit(rec *trace.Record, c *chainer) {
	if c.texts == 0 {
		return
	}
	parent, ok := s.parent(rec, c)
	if !ok {
		parent.sessionID = rec.RequestID
	}
	now := s.join(rec, parent, ok, parent.sessionID)
	rec.SessionSource = trace.SessionPrefixTree
	s.byContent.put(c.last, now)
}

// parent looks for the longest prefix that was a request of its own.
func (s *sessions) parent(rec *trace.Record, c *chainer) (turn, bool) {
	for i := len(c.bounds) - 2; i >= 0; i-- {
		if next := c.roles[i+1]; next != trace.RoleAssistant && next != trace.RoleTool {
			continue
		}
		if t, ok := s.byContent.get(c.bounds[i]); ok && t.endNs <= rec.StartUnixNs {
			return t, true
		}
	}
	return turn{}, false
}

// join writes the session into the record and returns it as a turn. The turn
// before is not named as the parent where it had not ended when the request
// began.
func (s *sessions) join(rec *trace.Record, parent turn, ok bool, sessionID string) turn {
	now := turn{requestID: rec.RequestID, sessionID: sessionID, endNs: rec.StartUnixNs}
	if end, seen := rec.E2E(); seen {
		now.endNs += end.Nanoseconds()
	}
	if ok {
		now.number = parent.number + 1
	}
	if ok && parent.endNs <= rec.StartUnixNs {
		rec.ParentRequestID = &parent.requestID
		rec.ThinkTimeUs = new((rec.StartUnixNs - parent.endNs) / 1000)
	}
	rec.SessionID, rec.Turn = &now.sessionID, &now.number
	return now
}
