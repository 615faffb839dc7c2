package datasets

import (
	"math"

	"github.com/lambdac/lambdac/trace"
)

// bailianBlock is the number of tokens that one hash id stands for.
const bailianBlock = 16

// bailian reads the Qwen-Bailian traces
// (github.com/alibaba-edu/qwen-bailian-usagetraces-anon, README.md): JSON
// lines with an arrival in seconds, token counts, 16-token blocks, and for
// each chat the chat before it in its conversation. Turns count from 1 there,
// from 0 here.
func bailian() format {
	return format{
		name:     "bailian",
		license:  "Apache-2.0; J. Wang et al., KVCache Cache in the Wild, USENIX ATC 2025",
		timeBase: trace.TimeRelative,
		unit:     "s",
		assumed:  assumedChat,
		clock:    jsonClock("timestamp"),
		scan: func(s *scan) error {
			roots := chatRoots{}
			return jsonLines(s, readBailian, func(in *bailianLine) (*trace.Record, string) { return bailianRow(s, in, roots) })
		},
	}
}

type bailianLine struct {
	counted
	chatID, parentChatID, turn optional
}

func readBailian(in *jsonReader, to *bailianLine) {
	for name := range in.members() {
		switch {
		case to.read(in, name):
		case string(name) == "chat_id":
			to.chatID = in.int()
		case string(name) == "parent_chat_id":
			to.parentChatID = in.int()
		case string(name) == "turn":
			to.turn = in.int()
		default:
			in.skip()
		}
	}
}

// chatRoots maps a chat to the first of its conversation: 16 bytes a row are
// all that the importer must keep.
type chatRoots map[int64]int64

func bailianRow(s *scan, in *bailianLine, roots chatRoots) (*trace.Record, string) {
	if !in.chatID.known {
		return nil, "no chat_id"
	}
	r, msg := in.record(s, bailianBlock)
	if r == nil {
		return nil, msg
	}
	chat, root := in.chatID.n, in.chatID.n
	if parent := in.parentChatID; parent.known && parent.n >= 0 {
		r.ParentRequestID = new(numbered("chat-", parent.n))
		var seen bool
		if root, seen = roots[parent.n]; !seen { // its parent was before the trace
			root = parent.n
		}
	}
	roots[chat] = root
	r.RequestID, r.SessionID = numbered("chat-", chat), new(numbered("chat-", root))
	if in.turn.n >= 1 && in.turn.n <= math.MaxInt32 {
		r.Turn = new(int32(in.turn.n - 1))
	}
	return r, ""
}
