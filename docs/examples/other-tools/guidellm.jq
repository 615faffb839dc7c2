# guidellm benchmark … --outputs json: one benchmark of the file is one line.
# A sweep's first two benchmarks have no rate and are left out.
["load_per_s", "n", "errors", "dwell_s", "output_tokens_per_s", "ttft_p50_ms", "ttft_p99_ms", "e2e_p50_ms", "e2e_p99_ms"],
(.[].benchmarks[] | .metrics as $m | select(.config.strategy.rate | type == "number") | [
  .config.strategy.rate,
  $m.request_totals.successful + $m.request_totals.errored,
  $m.request_totals.errored,
  .duration,
  $m.output_tokens_per_second.successful.mean,
  $m.time_to_first_token_ms.successful.percentiles.p50,
  $m.time_to_first_token_ms.successful.percentiles.p99,
  ($m.request_latency.successful.percentiles | 1000 * .p50, 1000 * .p99)
]) | @csv
