package tracedir

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/lambdac/lambdac/trace"
)

// clone copies a record, since a Writer takes ownership.
func clone(r *trace.Record) *trace.Record {
	c := *r
	if r.Features != nil {
		c.Features = new(*r.Features)
	}
	return &c
}

// makeRecords fills every field with seeded values, each optional field nil
// in some rows, each list nil, empty and full.
func makeRecords(rng *rand.Rand, n int) []*trace.Record {
	records := make([]*trace.Record, n)
	for i := range records {
		r := new(trace.Record)
		fillStruct(rng, reflect.ValueOf(r).Elem())
		r.RequestID = fmt.Sprintf("r%06d", i)
		r.StartUnixNs = 1_700_000_000_000_000_000 + int64(i)*1_234_567
		r.StartTS = r.StartUnixNs / 1000
		if r.Features != nil {
			r.Features.RequestID, r.Features.Level = r.RequestID, r.Level
		}
		for j := range r.Bodies {
			r.Bodies[j].RequestID = r.RequestID
			r.Bodies[j].Body = append([]byte{}, r.Bodies[j].Body...) // a required column
		}
		records[i] = r
	}
	return records
}

func fillStruct(rng *rand.Rand, v reflect.Value) {
	for _, field := range v.Fields() {
		fillValue(rng, field)
	}
}

func fillValue(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(rng, v.Elem())
		}
	case reflect.Struct:
		fillStruct(rng, v)
	case reflect.Slice:
		if n := rng.IntN(5) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fillValue(rng, v.Index(i))
			}
		}
	case reflect.Map:
		if n := rng.IntN(4) - 1; n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range n {
				value := reflect.New(v.Type().Elem()).Elem()
				fillValue(rng, value)
				v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key%d", i)), value)
			}
		}
	case reflect.String:
		v.SetString([]string{"", "a", "bé", "word", "another one"}[rng.IntN(5)])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 1)
	case reflect.Float64:
		v.SetFloat(rng.NormFloat64())
	case reflect.Int8:
		v.SetInt(int64(rng.IntN(6)))
	case reflect.Int32:
		v.SetInt(int64(int32(rng.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(rng.Uint64()))
	case reflect.Uint8:
		v.SetUint(uint64(rng.UintN(256)))
	default:
		panic("no filler for " + v.Type().String())
	}
}

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

// timingRow is a projection as the analyzer uses it.
type timingRow struct {
	trace.Timing
	trace.Usage
	Outcome trace.Outcome `parquet:"outcome,dict"`
}
