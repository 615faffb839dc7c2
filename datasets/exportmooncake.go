package datasets

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lambdac/lambdac/trace"
)

// exportMooncake writes Mooncake's JSON lines with what AIPerf added to them
// (ai-dynamo/aiperf, src/aiperf/dataset/loader/models.py, MooncakeTrace):
// session_id, and the delay to the turn before where it is known. Prompts are
// whole, not the difference to the turn before, which context_mode says; AIPerf
// 0.13.0 takes but does not use it.
// Times are milliseconds from the first arrival, with a fraction.
func exportMooncake(x *export) error {
	rows, err := x.rows()
	if err != nil {
		return err
	}
	blocks := blockNumbers{size: x.cfg.BlockTokens, ids: map[blockPlace]int64{}}
	var line []byte
	for _, row := range rows {
		if reason := lacks(row.InputTokens, row.OutputTokens); reason != "" {
			x.leaveOut(reason)
			continue
		}
		at, ok := x.arrival(row.StartUnixNs)
		if !ok {
			x.leaveOut(noStart)
			continue
		}
		line = milliseconds(append(line[:0], `{"timestamp":`...), at)
		if row.SessionID != nil {
			line = sessionMember(line, *row.SessionID)
			line = append(line, `,"context_mode":"message_array_with_responses"`...)
			if row.ThinkTimeUs != nil && *row.ThinkTimeUs >= 0 && *row.ThinkTimeUs <= maxNs/1000 {
				line = append(line, `,"delay":`...)
				line = milliseconds(line, *row.ThinkTimeUs*1000)
			}
		}
		line = append(line, `,"input_length":`...)
		line = strconv.AppendInt(line, *row.InputTokens, 10)
		line = append(line, `,"output_length":`...)
		line = strconv.AppendInt(line, *row.OutputTokens, 10)
		line = blocks.list(line, row)
		line = append(line, "}\n"...)
		if _, err := x.out.Write(line); err != nil {
			return err
		}
	}
	if blocks.long > 0 {
		x.warn("%d prompts have more blocks than a line holds, and are without", blocks.long)
	}
	return nil
}

// sessionMember appends the member that names a session.
func sessionMember(line []byte, id string) []byte {
	quoted, _ := jsontext.AppendQuote(append(line, `,"session_id":`...), id) // what is no UTF-8 becomes U+FFFD
	return quoted
}

// blockNumbers cuts prefixes into blocks of one size. A block of a trace is
// chained, so it stands for all that is before it: the block in which a larger
// one ends names that one.
type blockNumbers struct {
	size int
	ids  map[blockPlace]int64
	next int64
	// long counts the prompts whose blocks fit no line that an importer takes.
	long int
}

// blockPlace is the block of the trace in which a block ends, and its place:
// one large block may hold several small ones.
type blockPlace struct {
	id    int64
	place int
}

// list appends the blocks of a row: as many as its tokens fill, the last one
// partial. What the trace knows no block of, such as the tail of a prompt, is
// a block that no other row has. Where they do not fit a line there are none.
func (b *blockNumbers) list(line []byte, row *exportRow) []byte {
	p := &row.Prefix
	input := *row.InputTokens
	if p.PrefixBlockIDs == nil || p.PrefixBlockSize == nil || *p.PrefixBlockSize <= 0 || p.PrefixBlockUnit == nil || input == 0 {
		return line
	}
	perToken := 1.0
	if *p.PrefixBlockUnit == trace.UnitByte {
		perToken = contentBytes(row) / float64(input)
	}
	perBlock := perToken * float64(b.size) / float64(*p.PrefixBlockSize)
	n := int((input + int64(b.size) - 1) / int64(b.size))
	if n > maxLine/2 { // a digit and a comma each
		b.long++
		return line
	}
	before := len(line)
	line = append(line, `,"hash_ids":[`...)
	for i := range n {
		if i > 0 {
			line = append(line, ',')
		}
		at := int(math.Ceil(float64(i+1)*perBlock)) - 1
		if i == n-1 && !partialKnown(p, input) {
			at = len(p.PrefixBlockIDs)
		} else if i == n-1 {
			at = min(at, len(p.PrefixBlockIDs)-1)
		}
		line = strconv.AppendInt(line, b.number(p.PrefixBlockIDs, at, i), 10)
	}
	line = append(line, ']')
	if len(line) > maxLine-len("}\n") {
		b.long++
		return line[:before]
	}
	return line
}

// partialKnown tells whether the ids go to the end of the prompt: of token
// blocks their number says so, of blocks of bytes there are full ones only.
func partialKnown(p *trace.Prefix, input int64) bool {
	size := int64(*p.PrefixBlockSize)
	return *p.PrefixBlockUnit == trace.UnitToken && int64(len(p.PrefixBlockIDs))*size >= input
}

// number is that of the block that ends at a place of ids, counted from 0 in order of first
// appearance.
func (b *blockNumbers) number(ids []int64, at, place int) int64 {
	if at < 0 || at >= len(ids) {
		b.next++
		return b.next - 1
	}
	key := blockPlace{ids[at], place}
	n, seen := b.ids[key]
	if !seen {
		n = b.next
		b.ids[key] = n
		b.next++
	}
	return n
}

// contentBytes is the length of a prompt's texts.
func contentBytes(row *exportRow) float64 {
	if row.Messages == nil {
		return float64(row.ReqBodyBytes)
	}
	sum := 0.0
	for _, m := range row.Messages {
		sum += float64(m.Bytes)
	}
	return sum
}
