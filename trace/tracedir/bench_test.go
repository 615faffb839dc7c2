package tracedir

import (
	"math/rand/v2"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// benchRecords are captured chat exchanges as they are: most optional columns
// set, few distinct words, chunks a few milliseconds apart.
func benchRecords(n, chunks int) []trace.Record {
	rng := rand.New(rand.NewPCG(1, 2))
	model, reason := "llama-3-8b", []string{"stop"}
	provider, tokenizer := "vllm", "cl100k_base"
	records := make([]trace.Record, n)
	start := int64(1_700_000_000_000_000_000)
	for i := range records {
		start += int64(rng.ExpFloat64() * 1e7)
		r := &records[i]
		r.RequestID, r.Origin, r.SessionSource = hexID(rng), trace.OriginCapture, trace.SessionNone
		r.TenantID, r.ConnID = new(hexID(rng)[:16]), new(hexID(rng)[:16])
		r.StartUnixNs, r.ArrivalResolutionNs = start, 1
		r.APIKind, r.Provider, r.Operation = trace.KindOpenAIChat, &provider, new("chat")
		r.Method, r.PathTemplate, r.HostPseudonym, r.ServerPort = "POST", "/v1/chat/completions", "h-1", 8000
		r.HTTPVersion, r.RequestModel, r.Stream, r.ClientPort = "1.1", &model, true, new(int32(rng.IntN(60000)))
		r.ReqHeaders = map[string]string{"content-type": "application/json", "user-agent": "len:24", "accept": "*/*"}
		r.RespHeaders = map[string]string{"content-type": "text/event-stream", "server": "len:7"}
		r.MaxTokens, r.Temperature = new(int32(512)), new(0.7)
		r.MessageCount, r.Messages = new(int32(2)), []trace.Message{{Role: trace.RoleSystem, Bytes: 120}, {Role: trace.RoleUser, Bytes: int32(rng.IntN(4000))}}
		r.ReqWireBytes, r.ReqBodyBytes, r.RespWireBytes = rng.Int64N(9000), rng.Int64N(9000), rng.Int64N(90000)
		r.InputTokens, r.OutputTokens = new(rng.Int64N(2000)), new(rng.Int64N(500))
		r.TokenSource, r.TokenizerID, r.StatusCode, r.FinishReasons = trace.TokensUsage, &tokenizer, new(int32(200)), reason
		r.Outcome, r.ResponseModel = trace.OutcomeOK, &model
		r.TSentUs, r.TReqEndUs, r.TFirstTokenUs = new(int64(0)), new(rng.Int64N(900)), new(rng.Int64N(400_000))
		r.TLastTokenUs, r.TEndUs, r.MaxGapUs = new(rng.Int64N(9_000_000)), new(rng.Int64N(9_000_000)), new(rng.Int64N(90_000))
		r.EventCount, r.ChunkCount = new(int32(chunks)), new(int32(chunks))
		r.SanitizerMode, r.SanitizerVersion, r.BodyState = trace.ModeShape, "1", trace.BodyDroppedPolicy
		r.CaptureSource, r.Vantage, r.ReqComplete, r.RespComplete, r.SampledWeight = "pcap", trace.VantageServer, true, true, 1
		for range chunks {
			r.Chunks = append(r.Chunks, trace.Chunk{GapUs: 18_000 + rng.Int64N(4_000), Bytes: int32(1 + rng.IntN(7)), Kind: trace.ChunkText})
		}
	}
	return records
}

func hexID(rng *rand.Rand) string {
	const digits = "0123456789abcdef"
	var id [32]byte
	for i := range id {
		id[i] = digits[rng.IntN(16)]
	}
	return string(id[:])
}

func benchmarkWrite(b *testing.B, chunks int) {
	records := benchRecords(4096, chunks)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		w, err := Create(b.TempDir(), sealed(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		for range 8 {
			for i := range records {
				r := records[i]
				if err := w.Write(&r); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		rows += 8 * len(records)
	}
	perS := float64(rows) / b.Elapsed().Seconds()
	b.ReportMetric(perS, "rows/s")
	if chunks > 0 {
		b.ReportMetric(perS*float64(chunks), "chunks/s")
	}
}

func BenchmarkWrite(b *testing.B)         { benchmarkWrite(b, 0) }
func BenchmarkWrite50Chunks(b *testing.B) { benchmarkWrite(b, 50) }

// timingRow is a projection as the analyzer uses it.
type timingRow struct {
	trace.Timing
	trace.Usage
	Outcome trace.Outcome `parquet:"outcome,dict"`
}

func BenchmarkReadAll(b *testing.B)        { benchmarkRead[trace.Record](b) }
func BenchmarkReadProjection(b *testing.B) { benchmarkRead[timingRow](b) }

func benchmarkRead[T any](b *testing.B) {
	path := b.TempDir()
	w, err := Create(path, sealed(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range benchRecords(16384, 50) {
		if err := w.Write(&r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	d := open(b, path)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for _, err := range Rows[T](d) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
