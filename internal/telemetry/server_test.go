package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// endpoint serves what a test sets, at /metrics.
type endpoint struct {
	*httptest.Server
	mu   sync.Mutex
	says http.HandlerFunc
}

// answers changes what it says from now on.
func (e *endpoint) answers(f http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.says = f
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	says := e.says
	e.mu.Unlock()
	says(w, r)
}

func newEndpoint(t testing.TB, text string) *endpoint {
	e := &endpoint{says: serveText(text)}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func serveText(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, text)
	}
}

// scraper is a server sampler, and its address as rows have it.
func scraper(t testing.TB, e *endpoint) *server {
	t.Helper()
	s, err := newServer(e.URL+"/metrics", (&Config{}).withDefaults(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

// scrape reads once and returns the rows as text, the endpoint's address as HERE.
func scrape(t testing.TB, s *server) (rows, events []string, err error) {
	t.Helper()
	b := &batch{at: 1, source: trace.SampleServer}
	err = s.sample(t.Context(), b)
	for _, r := range b.rows {
		line := lines([]trace.Sample{r})[0]
		if r.RawName != nil {
			line += " = " + *r.RawName
		}
		rows = append(rows, strings.ReplaceAll(line, s.name, "HERE"))
	}
	return rows, lines(b.events), err
}

func TestServerNames(t *testing.T) {
	rows := []struct {
		name, text string
		want       []string
	}{
		{"vLLM 0.11", `
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 2000.0
# TYPE vllm:prefix_cache_queries_created gauge
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7e+09
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 900.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 1.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 5000.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 700.0
`, []string{
			"server.requests.running HERE 3 = vllm:num_requests_running", "server.requests.waiting HERE 2 = vllm:num_requests_waiting",
			"server.kv_cache.usage HERE 0.25 = vllm:kv_cache_usage_perc", "server.prefix_cache.hits HERE 900 = vllm:prefix_cache_hits_total",
			"server.prefix_cache.queries HERE 2000 = vllm:prefix_cache_queries_total", "server.preemptions HERE 1 = vllm:num_preemptions_total",
			"server.tokens.prompt HERE 5000 = vllm:prompt_tokens_total", "server.tokens.output HERE 700 = vllm:generation_tokens_total",
		}},
		{"vLLM, older names without suffix", `
vllm:gpu_cache_usage_perc{model_name="m"} 0.5
vllm:gpu_prefix_cache_hits{model_name="m"} 40
vllm:gpu_prefix_cache_queries{model_name="m"} 100
`, []string{
			"server.kv_cache.usage HERE 0.5 = vllm:gpu_cache_usage_perc", "server.prefix_cache.hits HERE 40 = vllm:gpu_prefix_cache_hits",
			"server.prefix_cache.queries HERE 100 = vllm:gpu_prefix_cache_queries",
		}},
		{"vLLM, old and new at once: one value", `
vllm:gpu_prefix_cache_hits_total 40
vllm:prefix_cache_hits_total 40
`, []string{"server.prefix_cache.hits HERE 40 = vllm:prefix_cache_hits_total"}},
		{"vLLM behind a collector that knows no colon, two engines", `
vllm_num_requests_running{engine="0"} 3
vllm_num_requests_running{engine="1"} 4
vllm_kv_cache_usage_perc{engine="0"} 0.1
vllm_kv_cache_usage_perc{engine="1"} 0.9
`, []string{"server.requests.running HERE 7 = vllm_num_requests_running", "server.kv_cache.usage HERE 0.9 = vllm_kv_cache_usage_perc"}},
		{"SGLang, two ranks of one engine", `
sglang:num_running_reqs{model_name="m",tp_rank="0"} 5
sglang:num_running_reqs{model_name="m",tp_rank="1"} 5
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 1
sglang:token_usage{model_name="m",tp_rank="0"} 0.4
sglang:cached_tokens_total{model_name="m",cache_source="device"} 30
sglang:cached_tokens_total{model_name="m",cache_source="host"} 10
sglang:prompt_tokens_total{model_name="m"} 100
sglang:generation_tokens_total{model_name="m"} 50
sglang:num_retracted_requests_total{model_name="m"} 2
sglang:num_retracted_reqs{model_name="m"} 1
`, []string{
			"server.requests.running HERE 5 = sglang:num_running_reqs", "server.requests.waiting HERE 1 = sglang:num_queue_reqs",
			"server.kv_cache.usage HERE 0.4 = sglang:token_usage", "server.prefix_cache.hits HERE 40 = sglang:cached_tokens_total",
			"server.prefix_cache.queries HERE 100 = sglang:prompt_tokens_total", "server.preemptions HERE 2 = sglang:num_retracted_requests_total",
			"server.tokens.prompt HERE 100 = sglang:prompt_tokens_total", "server.tokens.output HERE 50 = sglang:generation_tokens_total",
		}},
		{"TGI: tokens are sums of histograms", `
# TYPE tgi_queue_size gauge
tgi_queue_size 7
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 4
# TYPE tgi_request_generated_tokens histogram
tgi_request_generated_tokens_bucket{le="1"} 0
tgi_request_generated_tokens_bucket{le="+Inf"} 44
tgi_request_generated_tokens_sum 8123
tgi_request_generated_tokens_count 44
# TYPE tgi_request_input_length summary
tgi_request_input_length_sum 99
tgi_request_input_length_count 44
`, []string{
			"server.requests.running HERE 4 = tgi_batch_current_size", "server.requests.waiting HERE 7 = tgi_queue_size",
			"server.tokens.prompt HERE 99 = tgi_request_input_length", "server.tokens.output HERE 8123 = tgi_request_generated_tokens",
		}},
		{"Triton with TensorRT-LLM", `
nv_trt_llm_request_metrics{model="m",request_type="waiting",version="1"} 2
nv_trt_llm_request_metrics{model="m",request_type="active",version="1"} 6
nv_trt_llm_request_metrics{model="m",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="m",version="1"} 0.75
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="m",version="1"} 6239
nv_inference_pending_request_count{model="m",version="1"} 9
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_power_usage{gpu_uuid="GPU-1"} 300
`, []string{
			"server.requests.running HERE 6 = nv_trt_llm_request_metrics", "server.requests.waiting HERE 2 = nv_trt_llm_request_metrics",
			"server.kv_cache.usage HERE 0.75 = nv_trt_llm_kv_cache_block_metrics",
			"hw.gpu.utilization GPU-1 0.5 = nv_gpu_utilization", "hw.gpu.power GPU-1 300 = nv_gpu_power_usage",
		}},
		{"Triton without TensorRT-LLM", `
nv_inference_pending_request_count{model="a",version="1"} 9
nv_inference_pending_request_count{model="b",version="1"} 1
`, []string{"server.requests.waiting HERE 10 = nv_inference_pending_request_count"}},
		{"DCGM exporter; one GPU named by two pods is one", `
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",pod="a"} 50
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",pod="b"} 50
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-1"} 0.4
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 2
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-1"} 1980
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} 310.5
`, []string{
			"hw.gpu.utilization GPU-1 0.5 = DCGM_FI_DEV_GPU_UTIL", "hw.gpu.sm_active GPU-1 0.4 = DCGM_FI_PROF_SM_ACTIVE",
			"hw.gpu.memory.usage GPU-1 2.09715e+06 = DCGM_FI_DEV_FB_USED", "hw.gpu.clock.sm GPU-1 1.98e+09 = DCGM_FI_DEV_SM_CLOCK", "hw.gpu.power GPU-1 310.5 = DCGM_FI_DEV_POWER_USAGE",
		}},
		{"cases.md 22: MIG, utilisation 0 while the SMs work", `
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1"} 0
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-1"} 0.8
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-2",GPU_I_ID="7",GPU_I_PROFILE="1g.18gb"} 0
DCGM_FI_DEV_GPU_UTIL{gpu="2",UUID="GPU-3"} 0
DCGM_FI_PROF_SM_ACTIVE{gpu="2",UUID="GPU-3"} 0.001
`, []string{
			"hw.gpu.utilization GPU-1 NULL: 0 on a GPU that is partitioned (MIG) or busy: not measured there = DCGM_FI_DEV_GPU_UTIL",
			"hw.gpu.utilization GPU-2/MIG7 NULL: 0 on a GPU that is partitioned (MIG) or busy: not measured there = DCGM_FI_DEV_GPU_UTIL",
			"hw.gpu.utilization GPU-3 0 = DCGM_FI_DEV_GPU_UTIL",
			"hw.gpu.sm_active GPU-1 0.8 = DCGM_FI_PROF_SM_ACTIVE", "hw.gpu.sm_active GPU-3 0.001 = DCGM_FI_PROF_SM_ACTIVE",
		}},
		{"NaN is unknown", "vllm:num_requests_running NaN\n", []string{"server.requests.running HERE NULL: the source says NaN or infinity = vllm:num_requests_running"}},
		{"an allocator that says what it holds", "server_allocation_failures_total 3\nserver_memory_free_bytes 100\nserver_memory_largest_free_bytes 10\n", []string{
			"server.allocation_failures HERE 3 = server_allocation_failures_total", "server.memory.free HERE 100 = server_memory_free_bytes", "server.memory.largest_free HERE 10 = server_memory_largest_free_bytes",
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, _, err := scrape(t, scraper(t, newEndpoint(t, row.text)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLlamaCpp reads what a real llama.cpp server said (testdata/llamacpp.txt:
// build 11549, after a chat).
func TestLlamaCpp(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "llamacpp.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := scrape(t, scraper(t, newEndpoint(t, string(text))))
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{trace.MetricServerRunning, trace.MetricServerWaiting, trace.MetricServerPromptTokens + " HERE 26", trace.MetricServerOutputTokens + " HERE 8", trace.MetricServerPrefixHits + " HERE 0", trace.MetricServerPrefixAsked + " HERE 26"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, metric+" ") }) {
			t.Errorf("no %s in %q", metric, got)
		}
	}
}

func TestNodeExporter(t *testing.T) {
	text := func(user, idle, failed float64) string {
		return fmt.Sprintf(`
node_cpu_seconds_total{cpu="0",mode="user"} %v
node_cpu_seconds_total{cpu="0",mode="idle"} %v
node_cpu_seconds_total{cpu="0",mode="iowait"} 10
node_memory_MemAvailable_bytes 4096
node_vmstat_pgpgin 2
node_vmstat_oom_kill 1
node_pressure_memory_stalled_seconds_total 0.5
node_zoneinfo_min_pages{node="0",zone="Normal"} 11
node_buddyinfo_blocks{node="0",size="0",zone="Normal"} 4
node_buddyinfo_blocks{node="0",size="1",zone="Normal"} 2
node_buddyinfo_blocks{node="0",size="2",zone="Normal"} 0
linux_page_alloc_failed_total{node="0",order="9",zone="Normal"} %v
`, user, idle, failed)
	}
	e := newEndpoint(t, text(100, 100, 5))
	s := scraper(t, e)
	rest := []string{
		"system.memory.available HERE 4096 = node_memory_MemAvailable_bytes", "system.paging.in HERE 2048 = node_vmstat_pgpgin", "linux.oom.kills HERE 1 = node_vmstat_oom_kill",
		"linux.zone.watermark_min 0/Normal 11 = node_zoneinfo_min_pages", "linux.pressure.memory.full HERE 500000 = node_pressure_memory_stalled_seconds_total",
	}
	blocks := []string{"linux.buddy.free_blocks.order_0 0/Normal 4", "linux.buddy.free_blocks.order_1 0/Normal 2", "linux.buddy.free_blocks.order_2 0/Normal 0"}
	index := "linux.extfrag.index.order_2 0/Normal 0.5"
	rows, events, err := scrape(t, s)
	if diff := cmp.Diff(slices.Concat(rest, blocks), rows); err != nil || diff != "" {
		t.Errorf("error %v, first (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{index}, events); diff != "" {
		t.Errorf("failures from before were told as events:\n%s", diff)
	}
	e.answers(serveText(text(160, 140, 7)))
	rows, events, err = scrape(t, s)
	if diff := cmp.Diff(slices.Concat(rest, []string{"system.cpu.utilization HERE 0.6"}, blocks), rows); err != nil || diff != "" {
		t.Errorf("error %v, second (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{index, "linux.page_alloc.failed 0/Normal 9"}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestCountersThatRestart is cases.md 22: hits 1000 1500 40 400 of queries 2000
// 3000 100 1000. What is written are the raw counters, and that a server began
// again, once.
func TestCountersThatRestart(t *testing.T) {
	e := newEndpoint(t, "")
	s := scraper(t, e)
	var hits, queries []float64
	for i, pair := range [][2]float64{{1000, 2000}, {1500, 3000}, {40, 100}, {400, 1000}} {
		e.answers(serveText(fmt.Sprintf("vllm:prefix_cache_hits_total %v\nvllm:prefix_cache_queries_total %v\n", pair[0], pair[1])))
		b := &batch{at: int64(i), source: trace.SampleServer}
		if err := s.sample(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		hits, queries = append(hits, *b.rows[0].Value), append(queries, *b.rows[1].Value)
	}
	if diff := cmp.Diff([]float64{1000, 1500, 40, 400}, hits); diff != "" {
		t.Errorf("the raw counter is what is kept:\n%s", diff)
	}
	if got := s.restarted(); len(got) != 1 || got[0].AtUnixNs != 2 || got[0].Name != s.name {
		t.Errorf("restarts %+v, want one, at the third scrape", got)
	}
	if h, q := increase(hits), increase(queries); h != 900 || q != 2000 {
		t.Errorf("increases %v of %v, want 900 of 2000", h, q)
	}
}

// increase is what a counter counted: after a restart it counted from 0.
func increase(values []float64) (sum float64) {
	for i := 1; i < len(values); i++ {
		sum += values[i]
		if values[i] >= values[i-1] {
			sum -= values[i-1]
		}
	}
	return sum
}

// TestOneEngineRestarts: the sum over engines rises although one began again.
func TestOneEngineRestarts(t *testing.T) {
	e := newEndpoint(t, `vllm:prompt_tokens_total{engine="0"} 100`+"\n"+`vllm:prompt_tokens_total{engine="1"} 100`+"\n")
	s := scraper(t, e)
	_, _, err1 := scrape(t, s)
	e.answers(serveText(`vllm:prompt_tokens_total{engine="0"} 500` + "\n" + `vllm:prompt_tokens_total{engine="1"} 3` + "\n"))
	_, _, err2 := scrape(t, s)
	if got := s.restarted(); err1 != nil || err2 != nil || len(got) != 1 {
		t.Errorf("errors %v, %v, restarts %+v; want one restart", err1, err2, got)
	}
}

func TestBadEndpoints(t *testing.T) {
	const secret = "sk-planted"
	rows := []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>"+secret+"</html>")
		}, "HTML"},
		{"a page that calls itself text", serveText("\n <!doctype html>" + secret), "HTML"},
		{"JSON", serveText(`{"` + secret + `": 1}`), "text format"},
		{"no metric that is known", serveText("go_goroutines 3\n"), "none of its metrics is known"},
		{"nothing", serveText(""), "none of its metrics is known"},
		{"status 503", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "status 503"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/"+secret, http.StatusFound) }, "status 302"},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			line := []byte("vllm:num_requests_running 1 # " + strings.Repeat("x", 1<<16) + "\n")
			for range metricsBody/len(line) + 2 {
				_, _ = w.Write(line)
			}
		}, "larger than 16 MiB"},
		{"a small answer that unpacks to more", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte("vllm:num_requests_running 1\n"), metricsBody/16))
			_ = z.Close()
		}, "larger than 16 MiB"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "vllm:num_requests_running 1\n")
		}, "broke off"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := newEndpoint(t, "")
			e.answers(row.answer)
			_, err := Open(t.Context(), Config{Endpoints: []string{e.URL + "/metrics?token=" + secret}})
			var bad *EndpointError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), row.want) || bad.Remedy == "" {
				t.Fatalf("error %v, want one that says %q and what to do", err, row.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q holds what was read, or is more than a line", err)
			}
		})
	}
}

func TestNoURL(t *testing.T) {
	for _, url := range []string{"", "staging:8000", "ftp://x/metrics", "http://", "://"} {
		var bad *EndpointError
		if _, err := Open(t.Context(), Config{Endpoints: []string{url}}); !errors.As(err, &bad) {
			t.Errorf("%q: error %v, want an *EndpointError", url, err)
		}
	}
	if _, err := Open(t.Context(), Config{Endpoints: slices.Repeat([]string{"http://127.0.0.1:1"}, maxEndpoints+1)}); err == nil {
		t.Error("more endpoints than the limit were taken")
	}
}

// TestMistakeInMetrics: what came before a line that is none is kept, and the
// rest is a hole.
func TestMistakeInMetrics(t *testing.T) {
	e := newEndpoint(t, "vllm:num_requests_running 3\nvllm:num_requests_waiting 1\n")
	s, err := Open(t.Context(), Config{Endpoints: []string{e.URL}, Every: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	out := new(memoryOutput)
	s.Start(out)
	waitFor(t, func() bool { return len(out.of(trace.MetricServerWaiting)) > 0 })
	e.answers(serveText("vllm:num_requests_running 4\nvllm:num_requests_waiting {{{\n"))
	isHole := func(r trace.Sample) bool { return r.Value == nil }
	waitFor(t, func() bool { return slices.ContainsFunc(out.of(trace.MetricServerWaiting), isHole) })
	e.answers(serveText("vllm:num_requests_running 5\nvllm:num_requests_waiting 2\n"))
	waitFor(t, func() bool {
		return slices.ContainsFunc(out.of(trace.MetricServerWaiting), func(r trace.Sample) bool { return r.Value != nil && *r.Value == 2 })
	})
	sum := s.Close()
	if slices.ContainsFunc(out.of(trace.MetricServerRunning), isHole) {
		t.Error("a value before the mistake was thrown away")
	}
	if src := sum.Sources[0]; src.Holes == 0 || sum.Err != nil {
		t.Errorf("summary %+v, want holes", sum)
	}
}

// TestHungEndpoint: an endpoint that takes connections and says nothing is a
// hole, and never holds up the end.
func TestHungEndpoint(t *testing.T) {
	e := newEndpoint(t, "vllm:num_requests_running 3\n")
	s, err := Open(t.Context(), Config{Endpoints: []string{e.URL}, Every: 10 * time.Millisecond, Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	out, hang := new(memoryOutput), make(chan struct{})
	e.answers(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	s.Start(out)
	const late = "it does not answer in time"
	waitFor(t, func() bool {
		rows := out.of(trace.MetricServerRunning)
		return slices.ContainsFunc(rows, func(r trace.Sample) bool { return r.Value == nil && *r.Reason == late }) &&
			slices.ContainsFunc(rows, func(r trace.Sample) bool { return r.Value == nil && *r.Reason == reasonBusy })
	})
	sum := s.Close()
	close(hang)
	if src := sum.Sources[0]; src.Abandoned || src.Reasons[late] == 0 {
		t.Errorf("summary %+v, want holes that say %q", src, late)
	}
}

// TestAuto: a machine that an endpoint tells of takes the place of this one.
func TestAuto(t *testing.T) {
	text := map[string]string{
		"server": "vllm:num_requests_running 3\n", "host": "node_vmstat_oom_kill 0\n",
		"gpu": `DCGM_FI_DEV_SM_CLOCK{UUID="GPU-1"} 1980` + "\n", "cpu": `node_cpu_seconds_total{cpu="0",mode="idle"} 5` + "\nvllm:num_requests_running 3\n",
	}
	rows := []struct {
		endpoints string
		host, gpu bool
	}{{"server", true, true}, {"host", false, true}, {"gpu", true, false}, {"server host gpu", false, false}, {"cpu", false, true}}
	for _, row := range rows {
		t.Run(row.endpoints, func(t *testing.T) {
			cfg := Config{Host: Auto, GPU: Auto}
			for name := range strings.FieldsSeq(row.endpoints) {
				cfg.Endpoints = append(cfg.Endpoints, newEndpoint(t, text[name]).URL)
			}
			s, err := Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			has := func(name string) bool {
				return slices.ContainsFunc(s.Sources(), func(src Source) bool { return src.Name == name })
			}
			if has("buddy") != row.host || has("gpu") != row.gpu {
				t.Errorf("host %v, gpu %v; want %v, %v", has("buddy"), has("gpu"), row.host, row.gpu)
			}
		})
	}
}

// TestTwoHosts: the zones of the second host have its address in their names.
func TestTwoHosts(t *testing.T) {
	const text = `node_buddyinfo_blocks{node="0",size="0",zone="Normal"} 4` + "\n" + `node_zoneinfo_min_pages{node="0",zone="Normal"} 1` + "\n"
	a, b := newEndpoint(t, text), newEndpoint(t, text)
	s, err := Open(t.Context(), Config{Endpoints: []string{a.URL, b.URL}, Every: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	out := new(memoryOutput)
	s.Start(out)
	waitFor(t, func() bool { return len(instances(out.of(trace.BuddyMetric(0)))) == 2 })
	s.Close()
	want := []string{"0/Normal", strings.TrimPrefix(b.URL, "http://") + "/0/Normal"}
	slices.Sort(want)
	for _, metric := range []string{trace.BuddyMetric(0), trace.MetricZoneMin} {
		if diff := cmp.Diff(want, instances(out.of(metric))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", metric, diff)
		}
	}
}

func TestHeadersAndAccept(t *testing.T) {
	e := newEndpoint(t, "")
	var got http.Header
	e.answers(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		serveText("vllm:num_requests_running 3\n")(w, r)
	})
	s, err := Open(t.Context(), Config{Endpoints: []string{e.URL}, Header: http.Header{"Authorization": {"Bearer x"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got.Get("Authorization") != "Bearer x" || !strings.HasPrefix(got.Get("Accept"), "text/plain") {
		t.Errorf("headers %v", got)
	}
}

// TestTable: what the table says can be meant.
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range mappings() {
		key := m.raw + "{" + m.label + "} " + m.metric
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if m.exporter == "" || m.source == "" || m.metric == "" || m.scale < 0 || math.IsNaN(m.scale) {
			t.Errorf("row %+v is not complete", m)
		}
		if plainName(m.raw) != m.raw {
			t.Errorf("%s is not in its plain form, so it is never found", m.raw)
		}
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 3\n"))
	f.Add([]byte("# TYPE tgi_request_input_length histogram\ntgi_request_input_length_bucket{le=\"+Inf\"} 1\ntgi_request_input_length_sum 2\ntgi_request_input_length_count 1\n"))
	f.Add([]byte("node_buddyinfo_blocks{node=\"0\",size=\"99\",zone=\"Normal\"} NaN\nlinux_page_alloc_failed_total{order=\"9\"} 1\nnode_cpu_seconds_total 1\n"))
	f.Add([]byte("DCGM_FI_DEV_GPU_UTIL{GPU_I_ID=\"7\"} 0 1700000000000\n# EOF\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := newServer("http://host/metrics", (&Config{}).withDefaults(), false)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			families, err := parseMetrics(text)
			if err != nil && len(text) > 8 && strings.Contains(err.Error(), string(text)) {
				t.Errorf("error %q holds what was read", err)
			}
			b := &batch{source: trace.SampleServer}
			s.take(families, b)
			for _, r := range append(b.rows, b.events...) {
				if (r.Value == nil) == (r.Reason == nil) || r.Value != nil && (math.IsNaN(*r.Value) || math.IsInf(*r.Value, 0)) {
					t.Errorf("row %+v", r)
				}
			}
		}
	})
}

var _ sampler = (*server)(nil)

// BenchmarkScrape is one reading of an endpoint over loopback with as many
// metrics as a vLLM server and a node_exporter have together.
func BenchmarkScrape(b *testing.B) {
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "# TYPE other_%d counter\nother_%d{engine=\"0\",model_name=\"m\",le=\"%d\"} %d\n", i, i, i, i)
	}
	text.WriteString("vllm:num_requests_running 3\n")
	s := scraper(b, newEndpoint(b, text.String()))
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.sample(context.Background(), &batch{source: trace.SampleServer}); err != nil {
			b.Fatal(err)
		}
	}
}
