package sim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/twin"
)

// quick is a server without errors of its own: 10 ms a step, 1 ms a prompt
// token.
func quick() Config {
	p := twin.DefaultParams()
	p.StepFixed, p.PerPrefillToken, p.PerSequence = 10*time.Millisecond, time.Millisecond, 0
	return Config{Params: p, Seed: 1, Model: "m"}
}

// post sends a body and returns status and answer.
func (b *bench) post(t *testing.T, path, body string) (*http.Response, string) {
	t.Helper()
	resp, text, err := b.try(path, body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, text
}

// try is post for any goroutine: resp is nil where there was no answer.
func (b *bench) try(path, body string) (resp *http.Response, text string, err error) {
	resp, err = b.client.Post("http://sim"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp, string(all), err
}

// inBubble runs a test with a server in virtual time. That the bubble ends is
// the proof that no goroutine is left.
func inBubble(t *testing.T, cfg Config, f func(*testing.T, *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, cfg)
		defer b.stop()
		f(t, b)
	})
}

var changing = regexp.MustCompile(`"created":\d+`)

func TestAnswers(t *testing.T) {
	tests := []struct {
		name, path, body string
		want             string
	}{
		{
			"chat stream with usage", "/v1/chat/completions",
			`{"model":"x\"y","stream":true,"stream_options":{"include_usage":true},"max_tokens":2,"messages":[{"role":"user","content":"one two"}]}`,
			`data: {"id":"chatcmpl-0000000100000001","object":"chat.completion.chunk","created":0,"model":"x\"y","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-0000000100000001","object":"chat.completion.chunk","created":0,"model":"x\"y","choices":[{"index":0,"delta":{"content":" the"},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-0000000100000001","object":"chat.completion.chunk","created":0,"model":"x\"y","choices":[{"index":0,"delta":{"content":" server"},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-0000000100000001","object":"chat.completion.chunk","created":0,"model":"x\"y","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}

data: {"id":"chatcmpl-0000000100000001","object":"chat.completion.chunk","created":0,"model":"x\"y","choices":[],"usage":{"prompt_tokens":2,"total_tokens":4,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}

data: [DONE]

`,
		},
		{
			"completion stream without usage", "/v1/completions",
			`{"model":"x","stream":true,"max_tokens":1,"prompt":"one two"}`,
			`data: {"id":"cmpl-0000000100000001","object":"text_completion","created":0,"model":"x","choices":[{"index":0,"text":" the","logprobs":null,"finish_reason":null}]}

data: {"id":"cmpl-0000000100000001","object":"text_completion","created":0,"model":"x","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length"}]}

data: [DONE]

`,
		},
		{
			"chat in one piece", "/v1/chat/completions",
			`{"max_completion_tokens":2,"messages":[{"role":"system","content":"a b"},{"role":"user","content":[{"type":"text","text":"c d e"}]}]}`,
			`{"id":"chatcmpl-0000000100000001","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":" the server"},"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
		},
		{
			"completion of token ids", "/completions",
			`{"max_tokens":1,"prompt":[5,6,7]}`,
			`{"id":"cmpl-0000000100000001","object":"text_completion","created":0,"model":"m","choices":[{"index":0,"text":" the","logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":3,"total_tokens":4,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}}`,
		},
		{
			"message stream", "/v1/messages",
			`{"model":"x\"y","stream":true,"max_tokens":2,"system":[{"type":"text","text":"be"}],"messages":[{"role":"user","content":"one two"}]}`,
			`event: message_start
data: {"type":"message_start","message":{"id":"msg_0000000100000001","type":"message","role":"assistant","model":"x\"y","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" server"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`,
		},
		{
			"message in one piece", "/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"c d"}]}]}`,
			`{"id":"msg_0000000100000001","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":" the"}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`,
		},
		{
			"embedding", "/v1/embeddings",
			`{"model":"e","input":["one two","three"],"dimensions":1}`,
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1]},{"object":"embedding","index":1,"embedding":[1]}],"model":"e","usage":{"prompt_tokens":3,"total_tokens":3}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, quick(), func(t *testing.T, b *bench) {
				resp, got := b.post(t, tt.path, tt.body)
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("status %d: %s", resp.StatusCode, got)
				}
				got = changing.ReplaceAllString(got, `"created":0`)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	cfg := quick()
	cfg.MaxBodyBytes = 300
	cfg.Params.MaxContext = 20
	tests := []struct {
		name, path, body string
		status           int
		message          string
	}{
		{"no JSON", "/v1/chat/completions", `{"messages":`, 400, "ends too early|syntax error"},
		{"wrong type", "/v1/chat/completions", `{"messages":"x"}`, 400, "messages: wrong type"},
		{"no messages", "/v1/chat/completions", `{}`, 400, "messages"},
		{"odd content", "/v1/chat/completions", `{"messages":[{"role":"user","content":5}]}`, 400, "content"},
		{"no prompt", "/v1/completions", `{}`, 400, "prompt"},
		{"several prompts", "/v1/completions", `{"prompt":["a","b"]}`, 400, "one request each"},
		{"several choices", "/v1/completions", `{"prompt":"a","n":2}`, 400, "one request each"},
		{"no tokens", "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "max_tokens"},
		{"beyond the context", "/v1/completions", `{"prompt":"a","max_tokens":30}`, 400, "context"},
		{"message without a limit", "/v1/messages", `{"messages":[{"role":"user","content":"a"}]}`, 400, `"type":"invalid_request_error"`},
		{"message without messages", "/v1/messages", `{"max_tokens":1}`, 400, `"type":"error"`},
		{"no input", "/v1/embeddings", `{}`, 400, "input"},
		{"odd dimensions", "/v1/embeddings", `{"input":"a","dimensions":0}`, 400, "dimensions"},
		{"large body", "/v1/completions", `{"prompt":"` + filler(100) + `"}`, 413, "300 bytes"},
		{"unknown path", "/v1/responses", `{}`, 404, "Not Found"},
	}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		for _, tt := range tests {
			resp, body := b.post(t, tt.path, tt.body)
			if resp.StatusCode != tt.status || !regexp.MustCompile(tt.message).MatchString(body) {
				t.Errorf("%s: status %d, %s: want %d and %q", tt.name, resp.StatusCode, body, tt.status, tt.message)
			}
			if !json.Valid([]byte(body)) {
				t.Errorf("%s: the error is no JSON: %s", tt.name, body)
			}
		}
	})
}

func TestShedAndFail(t *testing.T) {
	shed := quick()
	shed.Params.MaxRunning, shed.Params.MaxQueue, shed.Params.ShedStatus = 1, 0, 503
	shed.Params.RetryAfter = 1500 * time.Millisecond
	inBubble(t, shed, func(t *testing.T, b *bench) {
		var other sync.WaitGroup
		defer other.Wait()
		other.Go(func() { b.post(t, "/v1/completions", `{"prompt":"a","max_tokens":50}`) })
		synctest.Wait()
		resp, body := b.post(t, "/v1/completions", `{"prompt":"a","max_tokens":5}`)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "2" {
			t.Errorf("status %d, Retry-After %q: want 503, 2", resp.StatusCode, resp.Header.Get("Retry-After"))
		}
		want := `{"error":{"message":"the server is overloaded, try again later","type":"ServiceUnavailableError","param":null,"code":503}}`
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	})
	fail := quick()
	fail.Params.ErrorRate = 0.999999999
	inBubble(t, fail, func(t *testing.T, b *bench) {
		start := time.Now()
		resp, body := b.post(t, "/v1/chat/completions", `{"stream":true,"max_tokens":5,"messages":[{"role":"user","content":"a"}]}`)
		if resp.StatusCode != 500 || !strings.Contains(body, "InternalServerError") {
			t.Errorf("status %d: %s", resp.StatusCode, body)
		}
		if took, want := time.Since(start), 51*time.Millisecond; took != want { // 11 + 4·10
			t.Errorf("failed after %v, want %v: at the end of its service", took, want)
		}
	})
}

// TestDisconnect: a client that goes away frees its slot.
func TestDisconnect(t *testing.T) {
	cfg := quick()
	cfg.Params.MaxRunning, cfg.Params.MaxQueue = 1, 0
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim/v1/completions", strings.NewReader(`{"stream":true,"prompt":"a","max_tokens":4000}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		cancel()
		resp.Body.Close()
		time.Sleep(20 * time.Millisecond)
		if st := b.server.driver.instruments().stats; st.Cancelled != 1 || st.Running != 0 {
			t.Errorf("cancelled %d, running %d: want 1, 0", st.Cancelled, st.Running)
		}
		if resp, _ := b.post(t, "/v1/completions", `{"prompt":"a","max_tokens":1}`); resp.StatusCode != http.StatusOK {
			t.Errorf("status %d after the slot was freed", resp.StatusCode)
		}
	})
}

// TestClose: open streams are cut, waiting requests get 503, new ones too.
func TestClose(t *testing.T) {
	cfg := quick()
	cfg.Params.MaxRunning = 1
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		results := make(chan string, 2)
		for _, n := range []int{4000, 3999} {
			go func() {
				resp, err := b.client.Post("http://sim/v1/completions", "", strings.NewReader(fmt.Sprintf(`{"stream":true,"prompt":"a","max_tokens":%d}`, n)))
				if err != nil {
					results <- err.Error()
					return
				}
				defer resp.Body.Close()
				_, err = io.ReadAll(resp.Body)
				results <- fmt.Sprintf("%d, cut %t", resp.StatusCode, err != nil)
			}()
		}
		time.Sleep(time.Second)
		if err := b.server.Close(); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{<-results: true, <-results: true}
		if diff := cmp.Diff(map[string]bool{"200, cut true": true, "503, cut false": true}, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if resp, _ := b.post(t, "/v1/completions", `{"prompt":"a"}`); resp.StatusCode != 503 {
			t.Errorf("status %d after Close, want 503", resp.StatusCode)
		}
	})
}

// TestDrawnLength: without max_tokens the length is drawn, the same for the
// same seed.
func TestDrawnLength(t *testing.T) {
	lengths := func() (n []int) {
		cfg := quick()
		cfg.Outputs = []twin.Job{{OutputTokens: 3}, {OutputTokens: 5}}
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			for range 20 {
				_, body := b.post(t, "/v1/completions", `{"prompt":"a"}`)
				var answer struct {
					Choices []struct {
						Reason string `json:"finish_reason"`
					}
					Usage struct {
						N int `json:"completion_tokens"`
					}
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Choices[0].Reason != "stop" {
					t.Fatalf("%v: %s", err, body)
				}
				n = append(n, answer.Usage.N)
			}
		})
		return n
	}
	first := lengths()
	if diff := cmp.Diff(first, lengths()); diff != "" {
		t.Errorf("one seed, two draws:\n%s", diff)
	}
	if !strings.Contains(fmt.Sprint(first), "3") || !strings.Contains(fmt.Sprint(first), "5") {
		t.Errorf("lengths %v: want 3s and 5s", first)
	}
}

// TestPrefixAndMetrics: a repeated prompt is cached, and /metrics says so.
func TestPrefixAndMetrics(t *testing.T) {
	inBubble(t, quick(), func(t *testing.T, b *bench) {
		body := fmt.Sprintf(`{"max_tokens":2,"prompt":%q}`, filler(40))
		b.post(t, "/v1/completions", body)
		if _, second := b.post(t, "/v1/completions", body); !strings.Contains(second, `"cached_tokens":32`) {
			t.Errorf("the second answer does not say 32 cached tokens: %s", second)
		}
		text := b.scrape(t)
		for _, line := range []string{
			"# TYPE vllm:num_requests_running gauge",
			`vllm:num_requests_running{engine="0",model_name="m"} 0`,
			`vllm:num_requests_waiting{engine="0",model_name="m"} 0`,
			`vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0`,
			`vllm:prefix_cache_queries_total{engine="0",model_name="m"} 80`,
			`vllm:prefix_cache_hits_total{engine="0",model_name="m"} 32`,
			`vllm:num_preemptions_total{engine="0",model_name="m"} 0`,
			`vllm:prompt_tokens_total{engine="0",model_name="m"} 80`,
			`vllm:generation_tokens_total{engine="0",model_name="m"} 4`,
			`vllm:request_success_total{engine="0",model_name="m"} 2`,
			`vllm:cache_config_info{block_size="16",enable_prefix_caching="true",num_gpu_blocks="8192"} 1`,
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("/metrics lacks %q", line)
			}
		}
	})
}

func TestSmallEndpoints(t *testing.T) {
	inBubble(t, quick(), func(t *testing.T, b *bench) {
		for path, want := range map[string]string{
			"/health":    "",
			"/v1/models": fmt.Sprintf(`{"data":[{"created":%d,"id":"m","object":"model","owned_by":"lambdac"}],"object":"list"}`, time.Now().Unix()),
		} {
			resp, err := b.client.Get("http://sim" + path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || string(text) != want {
				t.Errorf("%s: status %d, %q, %v: want 200, %q", path, resp.StatusCode, text, err, want)
			}
		}
		_, body := b.post(t, "/v1/embeddings", `{"input":[[1,2],[3]],"encoding_format":"base64"}`)
		var answer struct {
			Data []struct{ Embedding string }
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if raw, err := base64.StdEncoding.DecodeString(answer.Data[1].Embedding); err != nil || len(raw) != 4*defaultDimensions {
			t.Errorf("base64 embedding: %d bytes, %v", len(raw), err)
		}
	})
}

func TestConfigRefused(t *testing.T) {
	for _, cfg := range []Config{{}, {Params: twin.DefaultParams(), MessageOverhead: -1}} {
		if s, err := New(cfg); err == nil {
			_ = s.Close()
			t.Errorf("New(%+v) was taken", cfg)
		}
	}
}
