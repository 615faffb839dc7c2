package sim

import (
	"fmt"
	"io"
	"net/http"

	"github.com/lambdac/lambdac/internal/twin"
)

// family is one metric of /metrics.
type family struct {
	name, kind, help string
	series           func(*instruments) []point
}

// point is one series of a family; labels as they stand between the braces.
type point struct {
	labels string
	value  float64
}

// one makes a family of one series.
func one(name, kind, help, labels string, value func(*instruments) float64) family {
	return family{name, kind, help, func(in *instruments) []point { return []point{{labels, value(in)}} }}
}

// serverFamilies lists vLLM's names first (docs.vllm.ai, "Production metrics"),
// then what vLLM does not have.
func serverFamilies(model string) []family {
	labels := fmt.Sprintf(`engine="0",model_name=%q`, model)
	gauge := func(name, help string, get func(*twin.Stats) float64) family {
		return one(name, "gauge", help, labels, func(in *instruments) float64 { return get(&in.stats) })
	}
	count := func(name, help string, get func(*twin.Stats) int64) family {
		return one(name, "counter", help, labels, func(in *instruments) float64 { return float64(get(&in.stats)) })
	}
	return []family{
		gauge("vllm:num_requests_running", "Number of requests in model execution batches.", func(st *twin.Stats) float64 { return float64(st.Running) }),
		gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", func(st *twin.Stats) float64 { return float64(st.Waiting) }),
		gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", func(st *twin.Stats) float64 { return st.KVUsage }),
		count("vllm:prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.", func(st *twin.Stats) int64 { return st.PrefixQueries }),
		count("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", func(st *twin.Stats) int64 { return st.PrefixHits }),
		count("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.", func(st *twin.Stats) int64 { return st.Preemptions }),
		count("vllm:prompt_tokens_total", "Number of prefill tokens processed.", func(st *twin.Stats) int64 { return st.PromptTokens }),
		count("vllm:generation_tokens_total", "Number of generation tokens processed.", func(st *twin.Stats) int64 { return st.GeneratedTokens }),
		count("vllm:request_success_total", "Count of successfully processed requests.", func(st *twin.Stats) int64 { return st.Done }),
		count("lambdac_sim_requests_total", "Requests handed to the scheduler.", func(st *twin.Stats) int64 { return st.Submitted }),
		count("lambdac_sim_shed_total", "Requests refused because the server was full.", func(st *twin.Stats) int64 { return st.Shed }),
		count("lambdac_sim_failed_total", "Requests of the base error rate.", func(st *twin.Stats) int64 { return st.Failed }),
		count("lambdac_sim_broken_total", "Requests that a pathology broke.", func(st *twin.Stats) int64 { return st.Broken }),
		count("lambdac_sim_cancelled_total", "Requests whose client went away.", func(st *twin.Stats) int64 { return st.Cancelled }),
		count("lambdac_sim_steps_total", "Scheduler steps.", func(st *twin.Stats) int64 { return st.Steps }),
	}
}

// metrics serves GET /metrics in the Prometheus text format, version 0.0.4: the
// server's own, and what exporters on its machine would say.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	in := s.driver.instruments()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, families := range [][]family{serverFamilies(s.cfg.Model), allocatorFamilies(), nodeFamilies(), gpuFamilies()} {
		for _, f := range families {
			f.write(w, &in)
		}
	}
	const info = "vllm:cache_config_info"
	_, _ = fmt.Fprintf(w, "# HELP %s Information of the LLMEngine CacheConfig\n# TYPE %s gauge\n%s{block_size=\"%d\",enable_prefix_caching=\"%t\",num_gpu_blocks=\"%d\"} 1\n",
		info, info, info, twin.BlockTokens, s.cfg.Params.PrefixCaching, s.cfg.Params.KVBlocks)
}

// write leaves errors to the next write: a client that is gone shows there.
func (f *family) write(w io.Writer, in *instruments) {
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	for _, p := range f.series(in) {
		labels := p.labels
		if labels != "" {
			labels = "{" + labels + "}"
		}
		_, _ = fmt.Fprintf(w, "%s%s %v\n", f.name, labels, p.value)
	}
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
