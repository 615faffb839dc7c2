# vllm bench serve --request-rate R --save-result --percentile-metrics ttft,tpot,e2el:
# one file is one line. Runs at the rate "inf" have no load and are left out.
["load_per_s", "n", "errors", "dwell_s", "output_tokens_per_s", "ttft_p50_ms", "ttft_p99_ms", "tpot_p99_ms", "e2e_p50_ms", "e2e_p99_ms"],
(.[] | select(.request_rate | type == "number") | [
  .request_rate,
  .num_prompts,
  .num_prompts - .completed,
  .duration,
  .output_throughput,
  .median_ttft_ms, .p99_ttft_ms, .p99_tpot_ms, .median_e2el_ms, .p99_e2el_ms
]) | @csv
