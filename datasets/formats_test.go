package datasets

import (
	"compress/gzip"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lambdac/lambdac/internal/testenv"
	"github.com/lambdac/lambdac/trace"
)

// formatSamples are a few invented rows of every format, good and bad.
var formatSamples = []struct {
	format, text string
	cfg          Config
	rows         int64
	errors       []string
	resolution   int64
}{
	{
		format: "azure2023", resolution: 100,
		text: "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04,3180,0\r\n",
		rows: 2,
	},
	{
		format: "azure2024", resolution: 1000,
		text: "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00.001163+00:00,100,10\n2024-05-12 00:00:00+00:00,200,20\n" +
			"2024-05-12 00:00:10,1,1\n\"2024-05-12 00:00:11+00:00\",300,30\n\"2024-05-12,1,1\n",
		rows: 3,
		errors: []string{
			`source.txt:4: TIMESTAMP "2024-05-12 00:00:10": want a time such as 2024-05-12 00:00:00.001163+00:00`,
			`source.txt:6: no line of CSV: its quotes do not match`,
		},
	},
	{
		format: "azure2025", resolution: 1e6,
		text: "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,2,100,10\n2024-10-15T12:00:01Z,0,200,20\n2024-10-15T12:00:02Z,x,1,1\n2024-10-15T12:00:02Z,1,1\n",
		rows: 2,
		errors: []string{
			`source.txt:4: NumImages "x": want a whole number, 0 or more`,
			`source.txt:5: 3 fields, want 4`,
		},
	},
	{
		format: "bailian", resolution: 1e6,
		text: `{"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 21, "output_length": 132, "type": "text", "turn": 2, "hash_ids": [1089, 1090]}
{"chat_id": 160, "parent_chat_id": -1, "timestamp": 61.2, "input_length": 16, "output_length": 1, "type": "text", "turn": 1, "hash_ids": [7]}
{"chat_id": 161, "parent_chat_id": 160, "timestamp": 62.5, "input_length": 40, "output_length": 3, "type": "file", "turn": 2, "hash_ids": [7, 8, 9]}
{"chat_id": 162, "timestamp": 63, "input_length": 40, "output_length": 3, "hash_ids": [7]}
{"timestamp": 63, "input_length": 40, "output_length": 3}
{"chat_id": 163, "timestamp": "63", "input_length": 40, "output_length": 3}
{"chat_id": 164, "timestamp": 63, "input_length": [40], "output_length": 3}
`,
		rows: 3,
		errors: []string{
			"source.txt:4: 1 hash_ids for 40 tokens, want 3 blocks of 16",
			"source.txt:5: no chat_id",
			"source.txt:6: timestamp: a JSON string, want a number",
			"source.txt:7: input_length: a JSON array, want a whole number",
		},
	},
	{
		format: "burstgpt", resolution: 1e9,
		text:   "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45.0,GPT-4,417,0,417,API log\n-1,GPT-4,1,1,2,API log\n",
		rows:   2,
		errors: []string{`source.txt:4: Timestamp "-1": want seconds, 0 or more`},
	},
	{
		format: "burstgpt", resolution: 1e9,
		text: "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,s-1,43,GPT-4,906,446,1352,Conversation log\n6,s-1,2.5,GPT-4,36,29,65,Conversation log\n7,,,ChatGPT,3,4,7,API log\n8,,x,ChatGPT,3,4,7,API log\n",
		rows: 3, errors: []string{`source.txt:5: Elapsed time "x": want seconds, 0 or more`},
	},
	{
		format: "editor", resolution: 1e6,
		text: "time,context_length,latency_ms,accepted,model,session_id,user\n1767225600000,812,143.5,true,coder-7b,s1,u1\n1767225601000,700,,false,coder-7b,s1,u1\n2026-01-01T00:00:02Z,10,20,,coder-7b,s2,u2\n1767225603000,1,1,maybe,m,s,u\n",
		rows: 3, errors: []string{`source.txt:5: accepted "maybe": want true, false, 1 or 0`},
	},
	{
		format: "editor", resolution: 1e6,
		text:   `{"ts":"2026-01-01T00:00:00.5Z","prompt_chars":3000,"latency":80,"accepted":true,"prompt":"never read"}` + "\n" + `{"ts":1767225601000,"context_tokens":5,"accepted":null}` + "\n" + `{"ts":"soon"}` + "\n",
		rows:   2,
		errors: []string{`source.txt:3: timestamp "soon": want a number, or a date such as 2026-03-01T09:30:00.120Z`},
	},
	{
		format: "mooncake", resolution: 250_000,
		text: `{"timestamp":0,"input_length":600,"output_length":8,"hash_ids":[0,1]}
{"timestamp":0.25,"input_length":20,"output_length":8}
{"timestamp":1, "input_length":
`,
		rows: 2, errors: []string{"source.txt:3: no JSON object of this format: column 32 is no JSON"},
	},
	{
		format: "otel", resolution: 1,
		text: `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"x"}}]},"scopeSpans":[{"scope":{},"spans":[
{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"chat m","kind":3,"startTimeUnixNano":"1767225600000000001","endTimeUnixNano":"1767225601500000001",
 "attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.provider.name","value":{"stringValue":"anthropic"}},
  {"key":"gen_ai.request.model","value":{"stringValue":"claude-x"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"923"}},
  {"key":"gen_ai.conversation.id","value":{"stringValue":"who"}},{"key":"gen_ai.input.messages","value":{"stringValue":"never read"}},
  {"key":"gen_ai.response.finish_reasons","value":{"arrayValue":{"values":[{"stringValue":"end_turn"}]}}},
  {"key":"gen_ai.response.time_to_first_chunk","value":{"doubleValue":0.25}}],"status":{}},
{"name":"execute_tool","startTimeUnixNano":"1","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}}]},
{"name":"chat","startTimeUnixNano":"x","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}
]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":1767225602000000000,"attributes":[{"key":"gen_ai.system","value":{"stringValue":"openai"}},{"key":"gen_ai.operation.name","value":{"stringValue":"text_completion"}},{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":7}},{"key":"http.status_code","value":{"intValue":"503"}}],"status":{"code":2}}]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[{]
`,
		rows: 2,
		errors: []string{
			"source.txt:9: startTimeUnixNano: want nanoseconds since 1970",
			"source.txt:12: no JSON from here on: the rest of the file is not read",
		},
	},
	{
		format: "tracelab", resolution: 1e6,
		text: `{"provider":"claude","session_id":"s","round_index":0,"round_id":"a","model":"claude-x","input_tokens_total":30,"prefix_tokens":20,"claude_uncached_input_tokens":4,"claude_cache_creation_input_tokens":6,"output_tokens":9,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T05:40:20.151Z"},{"event_type":"text","timestamp":"2026-06-01T05:40:29.887Z"}]}
{"provider":"claude","session_id":"s","round_index":1,"round_id":"b","model":"claude-x","input_tokens_total":40,"output_tokens":9,"timing_events":[{"event_type":"tool_result","timestamp":"2026-06-01T05:40:31.887Z"},{"event_type":"tool_call","timestamp":"2026-06-01T05:40:33Z"}]}
{"provider":"codex","session_id":"t","input_tokens_total":40,"output_tokens":9,"timing_events":[]}
`,
		rows: 2, errors: []string{"source.txt:3: timing_events: no event, so the round has no time"},
	},
	{
		format: "vegeta", cfg: Config{PerS: 4, Tokenizer: "cl100k_base"}, resolution: 1,
		text: vegetaLine("POST", "http://10.0.0.1:8000/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello world"}]}`) +
			vegetaLine("GET", "http://10.0.0.1:8000/health", "") +
			vegetaLine("POST", "http://10.0.0.1:8000/v1/chat/completions", `{"model":`) +
			`{"method":"GET","url":"/no-host"}` + "\n",
		rows:   2,
		errors: []string{"source.txt:3: body: no request of openai.chat", "source.txt:4: method or url: want both, the url with its host"},
	},
	{
		format: "weka", resolution: 1e6,
		text: `{
 "id": "8712b46f-04e", "block_size": 64, "models": ["claude-x"], "requests": [
  {"t": 0.0, "type": "s", "model": "claude-x", "in": 200, "out": 7, "hash_ids": [1, 2, 3], "stop": "tool_use", "api_time": 4.5, "ttft": 0.5},
  {"t": 6, "type": "n", "model": "claude-x", "in": 210, "out": 8, "hash_ids": [1, 2, 3], "stop": "", "think_time": 1.5},
  {"t": 7.125, "type": "subagent", "agent_id": "x", "requests": [{"t": 1, "type": "n", "in": 64, "out": 1, "hash_ids": [9], "stop": "end_turn"}]},
  {"t": 9, "type": "n", "in": 64, "out": 1, "hash_ids": [9, 10, 11]},
  {"t": 9, "type": "n", "out": 1}
 ]}
{"id": "next", "block_size": 64, "requests": [{"t": 2, "type": "n", "in": 64, "out": 1, "hash_ids": [1], "stop": "end_turn"}]}
`,
		rows: 4,
		errors: []string{
			"source.txt:6: 3 hash_ids for 64 tokens, want 1 blocks of 64",
			"source.txt:7: no in",
		},
	},
}

func vegetaLine(method, url, body string) string {
	return `{"method":"` + method + `","url":"` + url + `","body":"` + base64.StdEncoding.EncodeToString([]byte(body)) + "\"}\n"
}

// TestFormats holds each format: rows kept, rows refused by line, arrivals
// counted from the grid that the format has.
func TestFormats(t *testing.T) {
	tested := map[string]bool{}
	for _, row := range formatSamples {
		t.Run(row.format, func(t *testing.T) {
			tested[row.format] = true
			cfg := row.cfg
			cfg.Format, cfg.Path = row.format, source(t, row.text)
			report, rows := importFile(t, cfg)
			if report.Rows != row.rows || int64(len(rows)) != row.rows || report.Refused != int64(len(row.errors)) {
				t.Errorf("rows, read, refused = %d, %d, %d; want %d, %d", report.Rows, len(rows), report.Refused, row.rows, len(row.errors))
			}
			var got []string
			for i := range report.Errors {
				got = append(got, report.Errors[i].Error())
			}
			if diff := cmp.Diff(row.errors, got); diff != "" {
				t.Errorf("row errors (-want +got):\n%s", diff)
			}
			if report.ArrivalResolutionNs != row.resolution {
				t.Errorf("resolution = %d, want %d", report.ArrivalResolutionNs, row.resolution)
			}
			ids := map[string]bool{}
			for _, r := range rows {
				ids[r.RequestID] = true
				if r.StatusCode != nil && row.format != "otel" || r.Chunks != nil {
					t.Error("what the source does not say must be NULL")
				}
				if r.PathTemplate == "" || r.SanitizerMode != trace.ModeImport {
					t.Errorf("path %q, mode %q", r.PathTemplate, r.SanitizerMode)
				}
			}
			if len(ids) != len(rows) {
				t.Errorf("%d request ids for %d rows", len(ids), len(rows))
			}
		})
	}
	for _, name := range Formats() {
		if !tested[name] {
			t.Errorf("format %s has no sample", name)
		}
	}
}

// rowsOf imports a sample; i counts among those of its format.
func rowsOf(t *testing.T, format string, i int) (Report, []*trace.Record) {
	t.Helper()
	for _, sample := range formatSamples {
		if sample.format != format {
			continue
		}
		if i--; i < 0 {
			cfg := sample.cfg
			cfg.Format, cfg.Path = format, source(t, sample.text)
			return importFile(t, cfg)
		}
	}
	t.Fatalf("no sample of %s", format)
	return Report{}, nil
}

// What each format says lands in its column.
func TestFormatColumns(t *testing.T) {
	equal := func(t *testing.T, what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	t.Run("azure2024", func(t *testing.T) {
		_, rows := rowsOf(t, "azure2024", 0)
		// 2024-05-12T00:00:00Z is 1715472000; a whole second is kept.
		equal(t, "starts", []int64{1715472000_001163000, 1715472000_000000000, 1715472011_000000000}, starts(rows))
	})
	t.Run("azure2025", func(t *testing.T) {
		_, rows := rowsOf(t, "azure2025", 0)
		equal(t, "images", []*int32{new(int32(2)), new(int32(0))}, []*int32{rows[0].ImageCount, rows[1].ImageCount})
		equal(t, "first", int64(1728993600_269000000), rows[0].StartUnixNs)
	})
	t.Run("bailian", func(t *testing.T) {
		_, rows := rowsOf(t, "bailian", 0)
		equal(t, "starts", []int64{61_114000000, 61_200000000, 62_500000000}, starts(rows))
		equal(t, "sessions", []string{"chat-55", "chat-160", "chat-160"}, []string{*rows[0].SessionID, *rows[1].SessionID, *rows[2].SessionID})
		equal(t, "parent", new("chat-160"), rows[2].ParentRequestID)
		equal(t, "turn", new(int32(1)), rows[2].Turn)
		equal(t, "blocks", []int64{7, 8, 9}, rows[2].PrefixBlockIDs)
		equal(t, "source", trace.SessionImport, rows[0].SessionSource)
	})
	t.Run("burstgpt", func(t *testing.T) {
		_, rows := rowsOf(t, "burstgpt", 0)
		equal(t, "failed", trace.OutcomeFailedUnknown, rows[1].Outcome)
		equal(t, "its tokens", new(int64(0)), rows[1].OutputTokens)
		equal(t, "others", trace.OutcomeUnknown, rows[0].Outcome)
		_, rows = rowsOf(t, "burstgpt", 1)
		equal(t, "elapsed", []*int64{new(int64(43e6)), new(int64(2.5e6)), nil}, []*int64{rows[0].TEndUs, rows[1].TEndUs, rows[2].TEndUs})
		equal(t, "one session", rows[0].SessionID, rows[1].SessionID)
		if rows[2].SessionID != nil || *rows[0].SessionID == "s-1" {
			t.Error("an empty session is none, and a session is a pseudonym")
		}
	})
	t.Run("editor", func(t *testing.T) {
		_, rows := rowsOf(t, "editor", 0)
		equal(t, "accepted", []*bool{new(true), new(false), nil}, []*bool{rows[0].Accepted, rows[1].Accepted, rows[2].Accepted})
		equal(t, "latency", []*int64{new(int64(143500)), nil, new(int64(20000))}, []*int64{rows[0].TEndUs, rows[1].TEndUs, rows[2].TEndUs})
		equal(t, "context", new(int64(812)), rows[0].InputTokens)
		equal(t, "start", int64(1767225602_000000000), rows[2].StartUnixNs)
		_, rows = rowsOf(t, "editor", 1)
		equal(t, "characters", []trace.Message{{Role: trace.RolePrompt, Bytes: 3000}}, rows[0].Messages)
		if rows[0].InputTokens != nil || rows[0].TokenSource != trace.TokensNone || rows[1].Accepted != nil {
			t.Error("what is not said is not known")
		}
	})
	t.Run("otel", func(t *testing.T) {
		report, rows := rowsOf(t, "otel", 0)
		first, second := rows[0], rows[1]
		equal(t, "skipped", int64(1), report.Skipped)
		equal(t, "start", int64(1767225600_000000001), first.StartUnixNs)
		equal(t, "end, first chunk", []int64{1_500_000, 250_000}, []int64{*first.TEndUs, *first.TFirstEventUs})
		equal(t, "kinds", []trace.APIKind{trace.KindAnthropicMessages, trace.KindOpenAICompletions}, []trace.APIKind{first.APIKind, second.APIKind})
		equal(t, "tokens", []int64{923, 7}, []int64{*first.InputTokens, *second.InputTokens})
		equal(t, "finish", []string{"end_turn"}, first.FinishReasons)
		equal(t, "outcomes", []trace.Outcome{trace.OutcomeOK, trace.OutcomeHTTPError}, []trace.Outcome{first.Outcome, second.Outcome})
		if second.OutputTokens != nil || second.TEndUs != nil || *first.SessionID == "who" {
			t.Error("what is not said is not known; a conversation is a pseudonym")
		}
	})
	t.Run("tracelab", func(t *testing.T) {
		_, rows := rowsOf(t, "tracelab", 0)
		equal(t, "end", new(int64(9_736_000)), rows[0].TEndUs)
		equal(t, "cache", []int64{30, 4, 20, 6}, []int64{*rows[0].InputTokens, *rows[0].RawInputTokens, *rows[0].CacheReadTokens, *rows[0].CacheWriteTokens})
		equal(t, "think time", new(int64(2_000_000)), rows[1].ThinkTimeUs)
		equal(t, "parent", &rows[0].RequestID, rows[1].ParentRequestID)
		equal(t, "turn", new(int32(1)), rows[1].Turn)
	})
	t.Run("vegeta", func(t *testing.T) {
		_, rows := rowsOf(t, "vegeta", 0)
		equal(t, "starts", []int64{0, 250_000_000}, starts(rows))
		equal(t, "tokens", new(int64(2)), rows[0].InputTokens) // cl100k_base: "hello", " world"
		equal(t, "tokenizer", new("cl100k_base"), rows[0].TokenizerID)
		equal(t, "messages", []trace.Message{{Role: trace.RoleUser, Bytes: 11}}, rows[0].Messages)
		equal(t, "kinds", []trace.APIKind{trace.KindOpenAIChat, trace.KindOther}, []trace.APIKind{rows[0].APIKind, rows[1].APIKind})
	})
	t.Run("weka", func(t *testing.T) {
		_, rows := rowsOf(t, "weka", 0)
		equal(t, "starts", []int64{0, 6e9, 8_125_000_000, 2e9}, starts(rows))
		equal(t, "blocks", [][]int64{{1, 2, 3}, {1, 2, 3}, {9}, {11}}, [][]int64{rows[0].PrefixBlockIDs, rows[1].PrefixBlockIDs, rows[2].PrefixBlockIDs, rows[3].PrefixBlockIDs})
		equal(t, "times", []int64{4_500_000, 500_000, 1_500_000}, []int64{*rows[0].TEndUs, *rows[0].ServerTTFTUs, *rows[1].ThinkTimeUs})
		equal(t, "outcomes", []trace.Outcome{trace.OutcomeOK, trace.OutcomeUnknown}, []trace.Outcome{rows[0].Outcome, rows[1].Outcome})
		if *rows[2].SessionID == *rows[1].SessionID || rows[2].ParentRequestID != nil {
			t.Error("a subagent is a session of its own")
		}
	})
}

func starts(rows []*trace.Record) (ns []int64) {
	for _, r := range rows {
		ns = append(ns, r.StartUnixNs)
	}
	return ns
}

// A gzip file is read as what is in it; one that is cut off gives the rows
// before the cut, and says so.
func TestGzip(t *testing.T) {
	var text strings.Builder
	text.WriteString("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n")
	for range 5000 {
		text.WriteString("2024-10-15T12:00:00.269Z,2,100,10\n")
	}
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text.String())); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	report, _ := imported(t, "azure2025", packed.String())
	if report.Rows != 5000 || report.Refused != 0 {
		t.Errorf("rows, refused = %d, %d", report.Rows, report.Refused)
	}
	report, _ = imported(t, "azure2025", packed.String()[:packed.Len()-20])
	if report.Rows == 0 || report.Refused != 1 || !strings.Contains(report.Errors[0].Message, "cannot be read on") {
		t.Errorf("cut off: rows %d, errors %v", report.Rows, report.Errors)
	}
}

func TestDecimalNs(t *testing.T) {
	for _, row := range []struct {
		text string
		unit int64
		want int64
		ok   bool
	}{
		{"0", 1e6, 0, true},
		{"61.114", 1e9, 61_114_000_000, true},
		{"0.4", 1e6, 400_000, true},
		{"1767225600000.123456", 1e6, 1767225600000_123456, true},
		{"1.0000005", 1e6, 1_000_001, true},
		{"-0.5", 1e9, -500_000_000, true},
		{"1e3", 1e6, 1e9, true},
		{"9e18", 1e9, 0, false},
		{"99999999999999", 1e9, 0, false},
		{"NaN", 1e9, 0, false},
		{"1e-999999999", 1e9, 0, true},
		{"", 1e9, 0, false},
		{"1.2.3", 1e9, 0, false},
		{`"5"`, 1e9, 0, false},
	} {
		got, ok := decimalNs([]byte(row.text), time.Duration(row.unit))
		if got != row.want || ok != row.ok {
			t.Errorf("%q × %d = %d, %v; want %d, %v", row.text, row.unit, got, ok, row.want, row.ok)
		}
	}
}

func TestTraceLabSample(t *testing.T) {
	path := filepath.Join(testenv.Samples(t), "tracelab_sanitized_round_trace.jsonl")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	report, rows := importFile(t, Config{Format: "tracelab", Path: path})
	sessions := map[string]int{}
	for _, r := range rows {
		sessions[*r.SessionID]++
	}
	if report.Rows != 19 || report.Refused != 0 || len(sessions) != 2 {
		t.Errorf("rows, refused, sessions = %d, %d, %d; want 19, 0, 2", report.Rows, report.Refused, len(sessions))
	}
	if first := rows[0]; *first.InputTokens != 32272 || *first.CacheReadTokens != 27217 || *first.RawInputTokens != 2892 {
		t.Errorf("first round's tokens: %d, %d, %d", *first.InputTokens, *first.CacheReadTokens, *first.RawInputTokens)
	}
}
