package sim

import (
	"fmt"
	"net/http"

	"github.com/lambdac/lambdac/internal/twin"
)

// metric is one row of /metrics under the name that vLLM uses.
type metric struct {
	name, kind, help string
	value            func(twin.Stats) float64
}

// metricTable lists vLLM's names first (docs.vllm.ai, "Production metrics"),
// then what vLLM does not have.
func metricTable() []metric {
	count := func(get func(twin.Stats) int64) func(twin.Stats) float64 {
		return func(st twin.Stats) float64 { return float64(get(st)) }
	}
	return []metric{
		{"vllm:num_requests_running", "gauge", "Number of requests in model execution batches.", func(st twin.Stats) float64 { return float64(st.Running) }},
		{"vllm:num_requests_waiting", "gauge", "Number of requests waiting to be processed.", func(st twin.Stats) float64 { return float64(st.Waiting) }},
		{"vllm:kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", func(st twin.Stats) float64 { return st.KVUsage }},
		{"vllm:prefix_cache_queries_total", "counter", "Prefix cache queries, in terms of number of queried tokens.", count(func(st twin.Stats) int64 { return st.PrefixQueries })},
		{"vllm:prefix_cache_hits_total", "counter", "Prefix cache hits, in terms of number of cached tokens.", count(func(st twin.Stats) int64 { return st.PrefixHits })},
		{"vllm:num_preemptions_total", "counter", "Cumulative number of preemption from the engine.", count(func(st twin.Stats) int64 { return st.Preemptions })},
		{"vllm:prompt_tokens_total", "counter", "Number of prefill tokens processed.", count(func(st twin.Stats) int64 { return st.PromptTokens })},
		{"vllm:generation_tokens_total", "counter", "Number of generation tokens processed.", count(func(st twin.Stats) int64 { return st.GeneratedTokens })},
		{"vllm:request_success_total", "counter", "Count of successfully processed requests.", count(func(st twin.Stats) int64 { return st.Done })},
		{"lambdac_sim_requests_total", "counter", "Requests handed to the scheduler.", count(func(st twin.Stats) int64 { return st.Submitted })},
		{"lambdac_sim_shed_total", "counter", "Requests refused because the server was full.", count(func(st twin.Stats) int64 { return st.Shed })},
		{"lambdac_sim_failed_total", "counter", "Requests of the base error rate.", count(func(st twin.Stats) int64 { return st.Failed })},
		{"lambdac_sim_cancelled_total", "counter", "Requests whose client went away.", count(func(st twin.Stats) int64 { return st.Cancelled })},
		{"lambdac_sim_steps_total", "counter", "Scheduler steps.", count(func(st twin.Stats) int64 { return st.Steps })},
	}
}

// metrics serves GET /metrics in the Prometheus text format, version 0.0.4.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	st := s.driver.stats()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, m := range metricTable() {
		_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s{engine=\"0\",model_name=%q} %v\n",
			m.name, m.help, m.name, m.kind, m.name, s.cfg.Model, m.value(st))
	}
	const info = "vllm:cache_config_info"
	_, _ = fmt.Fprintf(w, "# HELP %s Information of the LLMEngine CacheConfig\n# TYPE %s gauge\n%s{block_size=\"%d\",enable_prefix_caching=\"%t\",num_gpu_blocks=\"%d\"} 1\n",
		info, info, info, twin.BlockTokens, s.cfg.Params.PrefixCaching, s.cfg.Params.KVBlocks)
}

// models serves GET /v1/models.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data": []map[string]any{{
			"id": s.cfg.Model, "object": "model", "created": s.started.Unix(), "owned_by": "lambdac",
		}},
	})
}

// health serves GET /health: 200 without a body.
func (s *Server) health(http.ResponseWriter, *http.Request) {}
