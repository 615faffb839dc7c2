# k6 run --summary-export FILE --summary-trend-stats 'med,p(95),p(99)', executor
# constant-arrival-rate: one file is one line. What k6 dropped was offered too.
["load_per_s", "achieved_per_s", "n", "errors", "dwell_s", "e2e_p50_ms", "e2e_p95_ms", "e2e_p99_ms"],
(.[].metrics | [
  .http_reqs.rate + (.dropped_iterations.rate // 0),
  .http_reqs.rate,
  .http_reqs.count,
  .http_req_failed.passes,
  .http_reqs.count / .http_reqs.rate,
  .http_req_duration.med, .http_req_duration["p(95)"], .http_req_duration["p(99)"]
]) | @csv
