# aiperf profile --request-rate R …: one profile_export_aiperf.json is one line.
["load_per_s", "n", "errors", "dwell_s", "output_tokens_per_s", "ttft_p50_ms", "ttft_p99_ms", "e2e_p50_ms", "e2e_p99_ms"],
(.[] | (.error_request_count.avg // 0) as $errors | [
  .input_config.loadgen.request_rate,
  .request_count.avg + $errors,
  $errors,
  .benchmark_duration.avg,
  .output_token_throughput.avg,
  .time_to_first_token.p50, .time_to_first_token.p99,
  .request_latency.p50, .request_latency.p99
]) | @csv
