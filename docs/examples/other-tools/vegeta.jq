# vegeta report -type=json: one file is one line; its times are nanoseconds.
# An answer of 429 or 503 is a shed.
["load_per_s", "n", "errors", "sheds", "dwell_s", "e2e_p50_ms", "e2e_p95_ms", "e2e_p99_ms"],
(.[] | [
  .rate,
  .requests,
  (.requests * (1 - .success) | round),
  (.status_codes["429"] // 0) + (.status_codes["503"] // 0),
  .duration / 1e9,
  .latencies["50th"] / 1e6, .latencies["95th"] / 1e6, .latencies["99th"] / 1e6
]) | @csv
