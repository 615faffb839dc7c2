package datasets

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

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
		scan: func(s *scan) error {
			roots := chatRoots{}
			return jsonLines(s, func(in *bailianLine) (*trace.Record, string) { return bailianRow(s, in, roots) })
		},
	}
}

type bailianLine struct {
	ChatID       *int64         `json:"chat_id"`
	ParentChatID *int64         `json:"parent_chat_id"`
	Timestamp    jsontext.Value `json:"timestamp"`
	InputLength  *int64         `json:"input_length"`
	OutputLength *int64         `json:"output_length"`
	Turn         *int32         `json:"turn"`
	HashIDs      blockIDs       `json:"hash_ids"`
}

// chatRoots maps a chat to the first of its conversation: 16 bytes a row are
// all that the importer must keep.
type chatRoots map[int64]int64

func bailianRow(s *scan, in *bailianLine, roots chatRoots) (*trace.Record, string) {
	if in.ChatID == nil {
		return nil, "no chat_id"
	}
	rec, msg := arrivalAndLengths(s, in.Timestamp, in.InputLength, in.OutputLength)
	if rec == nil {
		return nil, msg
	}
	if msg := setBlocks(rec, in.HashIDs, bailianBlock); msg != "" {
		return nil, msg
	}
	root := *in.ChatID
	if in.ParentChatID != nil && *in.ParentChatID >= 0 {
		rec.ParentRequestID = new(chatName(*in.ParentChatID))
		var seen bool
		if root, seen = roots[*in.ParentChatID]; !seen { // its parent was before the trace
			root = *in.ParentChatID
		}
	}
	roots[*in.ChatID] = root
	rec.RequestID, rec.SessionID = chatName(*in.ChatID), new(chatName(root))
	if in.Turn != nil && *in.Turn >= 1 {
		rec.Turn = new(*in.Turn - 1)
	}
	return rec, ""
}

func chatName(id int64) string { return fmt.Sprintf("chat-%d", id) }
