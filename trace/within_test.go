package trace

import "testing"

// A window takes its part of each answer that touches it, by the time of its
// events.
func TestOutputTokensWithin(t *testing.T) {
	text := func(gapMs int64, tokens *int32) Chunk {
		return Chunk{GapUs: gapMs * 1000, Kind: ChunkText, Tokens: tokens}
	}
	usage := Chunk{GapUs: 1000, Kind: ChunkUsage}
	one, four := new(int32(1)), new(int32(4))
	ms := int64(1_000_000)
	for _, row := range []struct {
		name     string
		rec      Record
		from, to int64 // ms
		want     float64
		unknown  bool
	}{
		{"equal shares", Record{Usage: Usage{OutputTokens: new(int64(8))}, Chunks: []Chunk{text(10, nil), text(10, nil), text(10, nil), text(10, nil), usage}}, 15, 35, 4, false},
		{"the end is outside", Record{Usage: Usage{OutputTokens: new(int64(8))}, Chunks: []Chunk{text(10, nil), text(10, nil)}}, 10, 20, 4, false},
		{"told by the events", Record{Usage: Usage{OutputTokens: new(int64(6))}, Chunks: []Chunk{text(10, one), text(10, one), text(10, four)}}, 25, 100, 4, false},
		{"told by the events, cut before its usage", Record{Chunks: []Chunk{text(10, one), text(10, four)}}, 0, 100, 5, false},
		{"nobody counted", Record{Chunks: []Chunk{text(10, nil), text(10, nil)}}, 0, 100, 0, true},
		{"nobody counted, elsewhere", Record{Chunks: []Chunk{text(10, nil), text(10, nil)}}, 50, 100, 0, false},
		{"hidden tokens", Record{Chunks: []Chunk{{GapUs: 5000, Kind: ChunkOther, Tokens: four}, text(10, one)}}, 0, 10, 4, false},
		{"whole answer", Record{Result: Result{Outcome: OutcomeOK}, Timing: Timing{TEndUs: new(int64(30_000))}, Usage: Usage{OutputTokens: new(int64(9))}}, 30, 31, 9, false},
		{"whole answer, elsewhere", Record{Timing: Timing{TEndUs: new(int64(30_000))}, Usage: Usage{OutputTokens: new(int64(9))}}, 0, 30, 0, false},
		{"whole answer, not counted", Record{Result: Result{Outcome: OutcomeOK}, Timing: Timing{TEndUs: new(int64(30_000))}}, 0, 31, 0, true},
		{"refused", Record{Result: Result{Outcome: OutcomeHTTPError}, Timing: Timing{TEndUs: new(int64(30_000))}}, 0, 31, 0, false},
		{"never sent", Record{Result: Result{Outcome: OutcomeNotSent}}, 0, 100, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.rec.StartUnixNs = 7 * ms
			got, ok := row.rec.OutputTokensWithin((7+row.from)*ms, (7+row.to)*ms)
			if got != row.want || ok == row.unknown {
				t.Errorf("%v, counted %v, want %v", got, ok, row.want)
			}
		})
	}
}
