package telemetry

import (
	"strings"

	"github.com/lambdac/lambdac/trace"
)

// join is how several series of one name at one endpoint become one sample.
type join uint8

const (
	// joinSum adds them: engines of one server, models, ranks.
	joinSum join = iota
	// joinMax takes the greatest: the engine that is full is the one that counts.
	joinMax
	// joinByGPU and joinByZone keep them apart, by what their labels name.
	joinByGPU
	joinByZone
)

// mapping is one name of a server or exporter, and what it is called here.
type mapping struct {
	// exporter is who says it; for documentation.
	exporter string
	// raw is the name without the suffix _total, which client libraries add or
	// not, and with '_' for ':', which collectors replace. A histogram's or
	// summary's value is its sum.
	raw string
	// plus is a name whose value is added, "" = none; without it the row is not
	// there.
	plus string
	// label, "name=value", chooses series; "" = all.
	label  string
	metric string
	source trace.SampleSource
	// scale converts the unit; 0 = 1.
	scale   float64
	join    join
	counter bool
}

// mappings is the table. Of several rows with one metric the first that an
// endpoint has is used: servers say some things twice while a name changes.
func mappings() []mapping {
	const mib, mhz, percent = 1 << 20, 1e6, 0.01
	server := func(exporter string, rows ...mapping) []mapping { return rowsOf(exporter, trace.SampleServer, rows) }
	var all []mapping
	for _, rows := range [][]mapping{
		server("vLLM",
			mapping{raw: "vllm_num_requests_running", metric: trace.MetricServerRunning},
			mapping{raw: "vllm_num_requests_waiting", metric: trace.MetricServerWaiting},
			mapping{raw: "vllm_kv_cache_usage_perc", metric: trace.MetricServerKVUsage, join: joinMax},
			mapping{raw: "vllm_gpu_cache_usage_perc", metric: trace.MetricServerKVUsage, join: joinMax},
			mapping{raw: "vllm_prefix_cache_hits", metric: trace.MetricServerPrefixHits, counter: true},
			mapping{raw: "vllm_gpu_prefix_cache_hits", metric: trace.MetricServerPrefixHits, counter: true},
			mapping{raw: "vllm_prefix_cache_queries", metric: trace.MetricServerPrefixAsked, counter: true},
			mapping{raw: "vllm_gpu_prefix_cache_queries", metric: trace.MetricServerPrefixAsked, counter: true},
			mapping{raw: "vllm_num_preemptions", metric: trace.MetricServerPreemptions, counter: true},
			mapping{raw: "vllm_prompt_tokens", metric: trace.MetricServerPromptTokens, counter: true},
			mapping{raw: "vllm_generation_tokens", metric: trace.MetricServerOutputTokens, counter: true},
		),
		server("SGLang",
			mapping{raw: "sglang_num_running_reqs", metric: trace.MetricServerRunning},
			mapping{raw: "sglang_num_queue_reqs", metric: trace.MetricServerWaiting},
			mapping{raw: "sglang_token_usage", metric: trace.MetricServerKVUsage, join: joinMax},
			mapping{raw: "sglang_cached_tokens", metric: trace.MetricServerPrefixHits, counter: true},
			mapping{raw: "sglang_prompt_tokens", metric: trace.MetricServerPrefixAsked, counter: true},
			mapping{raw: "sglang_num_retracted_requests", metric: trace.MetricServerPreemptions, counter: true},
			mapping{raw: "sglang_prompt_tokens", metric: trace.MetricServerPromptTokens, counter: true},
			mapping{raw: "sglang_generation_tokens", metric: trace.MetricServerOutputTokens, counter: true},
		),
		server("TGI",
			mapping{raw: "tgi_batch_current_size", metric: trace.MetricServerRunning},
			mapping{raw: "tgi_queue_size", metric: trace.MetricServerWaiting},
			mapping{raw: "tgi_request_input_length", metric: trace.MetricServerPromptTokens, counter: true},
			mapping{raw: "tgi_request_generated_tokens", metric: trace.MetricServerOutputTokens, counter: true},
		),
		server("llama.cpp",
			mapping{raw: "llamacpp_requests_processing", metric: trace.MetricServerRunning},
			mapping{raw: "llamacpp_requests_deferred", metric: trace.MetricServerWaiting},
			mapping{raw: "llamacpp_kv_cache_usage_ratio", metric: trace.MetricServerKVUsage, join: joinMax},
			mapping{raw: "llamacpp_prompt_tokens_cached", metric: trace.MetricServerPrefixHits, counter: true},
			// Its prompt tokens are those that were not cached.
			mapping{raw: "llamacpp_prompt_tokens", plus: "llamacpp_prompt_tokens_cached", metric: trace.MetricServerPrefixAsked, counter: true},
			mapping{raw: "llamacpp_prompt_tokens", metric: trace.MetricServerPromptTokens, counter: true},
			mapping{raw: "llamacpp_tokens_predicted", metric: trace.MetricServerOutputTokens, counter: true},
		),
		server("Triton",
			mapping{raw: "nv_trt_llm_request_metrics", label: "request_type=active", metric: trace.MetricServerRunning},
			mapping{raw: "nv_trt_llm_request_metrics", label: "request_type=waiting", metric: trace.MetricServerWaiting},
			mapping{raw: "nv_inference_pending_request_count", metric: trace.MetricServerWaiting},
			mapping{raw: "nv_trt_llm_kv_cache_block_metrics", label: "kv_cache_block_type=fraction", metric: trace.MetricServerKVUsage, join: joinMax},
		),
		server("TensorRT-LLM",
			mapping{raw: "trtllm_num_requests_running", metric: trace.MetricServerRunning},
			mapping{raw: "trtllm_num_requests_waiting", metric: trace.MetricServerWaiting},
			mapping{raw: "trtllm_kv_cache_utilization", metric: trace.MetricServerKVUsage, join: joinMax},
		),
		server("any server",
			mapping{raw: "server_allocation_failures", metric: trace.MetricServerAllocFailed, counter: true},
			mapping{raw: "server_memory_free_bytes", metric: trace.MetricServerFreeBytes},
			mapping{raw: "server_memory_largest_free_bytes", metric: trace.MetricServerLargestFree, join: joinMax},
		),
		rowsOf("Triton", trace.SampleGPU, []mapping{
			{raw: "nv_gpu_utilization", metric: trace.MetricGPUUtilization, join: joinByGPU},
			{raw: "nv_gpu_memory_used_bytes", metric: trace.MetricGPUMemoryUsed, join: joinByGPU},
			{raw: "nv_gpu_memory_total_bytes", metric: trace.MetricGPUMemoryLimit, join: joinByGPU},
			{raw: "nv_gpu_power_usage", metric: trace.MetricGPUPower, join: joinByGPU},
		}),
		rowsOf("DCGM exporter", trace.SampleGPU, []mapping{
			{raw: "DCGM_FI_DEV_GPU_UTIL", metric: trace.MetricGPUUtilization, scale: percent, join: joinByGPU},
			{raw: "DCGM_FI_PROF_SM_ACTIVE", metric: trace.MetricGPUSMActive, join: joinByGPU},
			{raw: "DCGM_FI_PROF_DRAM_ACTIVE", metric: trace.MetricGPUDRAMActive, join: joinByGPU},
			{raw: "DCGM_FI_DEV_FB_USED", metric: trace.MetricGPUMemoryUsed, scale: mib, join: joinByGPU},
			{raw: "DCGM_FI_DEV_FB_TOTAL", metric: trace.MetricGPUMemoryLimit, scale: mib, join: joinByGPU},
			{raw: "DCGM_FI_DEV_SM_CLOCK", metric: trace.MetricGPUSMClock, scale: mhz, join: joinByGPU},
			{raw: "DCGM_FI_DEV_MEM_CLOCK", metric: trace.MetricGPUMemoryClock, scale: mhz, join: joinByGPU},
			{raw: "DCGM_FI_DEV_PSTATE", metric: trace.MetricGPUPState, join: joinByGPU},
			{raw: "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", metric: trace.MetricGPUThrottle, join: joinByGPU},
			{raw: "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", metric: trace.MetricGPUThrottle, join: joinByGPU},
			{raw: "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", metric: trace.MetricGPUPCIeReplay, join: joinByGPU, counter: true},
			{raw: "DCGM_FI_DEV_ECC_DBE_VOL", metric: trace.MetricGPUECC, join: joinByGPU, counter: true},
			{raw: "DCGM_FI_DEV_POWER_USAGE", metric: trace.MetricGPUPower, join: joinByGPU},
			{raw: "DCGM_FI_DEV_GPU_TEMP", metric: trace.MetricGPUTemperature, join: joinByGPU},
		}),
		nodeRows(),
	} {
		all = append(all, rows...)
	}
	return all
}

// nodeRows are node_exporter's. CPU time, free blocks and failed allocations are
// read apart (servermachine.go): several series make one value there.
func nodeRows() []mapping {
	const kib, us = 1024, 1e6
	rows := []mapping{
		{raw: "node_memory_MemAvailable_bytes", metric: trace.MetricMemoryAvailable},
		{raw: "node_memory_MemFree_bytes", metric: trace.MetricMemoryFree},
		{raw: "node_memory_AnonPages_bytes", metric: trace.MetricMemoryAnon},
		{raw: "node_vmstat_pgpgin", metric: trace.MetricPagingIn, scale: kib, counter: true},
		{raw: "node_vmstat_pgpgout", metric: trace.MetricPagingOut, scale: kib, counter: true},
		{raw: "node_vmstat_oom_kill", metric: trace.MetricOOMKills, counter: true},
		{raw: "node_vmstat_compact_stall", metric: trace.MetricCompactStall, counter: true},
		{raw: "node_vmstat_compact_fail", metric: trace.MetricCompactFail, counter: true},
		{raw: "node_zoneinfo_min_pages", metric: trace.MetricZoneMin, join: joinByZone},
	}
	for _, p := range []struct{ raw, resource, share string }{
		{"cpu_waiting", "cpu", "some"},
		{"memory_waiting", "memory", "some"},
		{"memory_stalled", "memory", "full"},
		{"io_waiting", "io", "some"},
		{"io_stalled", "io", "full"},
	} {
		rows = append(rows, mapping{
			raw: "node_pressure_" + p.raw + "_seconds", metric: trace.MetricPSIPrefix + p.resource + "." + p.share, scale: us, counter: true,
		})
	}
	return rowsOf("node_exporter", trace.SampleHost, rows)
}

func rowsOf(exporter string, source trace.SampleSource, rows []mapping) []mapping {
	for i := range rows {
		rows[i].exporter, rows[i].source = exporter, source
	}
	return rows
}

// plainName is the form in which the table has a metric's name.
func plainName(raw string) string {
	return strings.TrimSuffix(strings.ReplaceAll(raw, ":", "_"), "_total")
}
