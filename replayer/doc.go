// Package replayer sends a recorded trace to a service at scaled load and
// measures every answer: Records in, Records out.
//
// It is an open loop. The schedule of a level is drawn up before its first
// send ([Scaling], schedule.go) and no answer ever delays it; a request that
// could not be sent on time is sent late and says so, one that could not be
// sent at all is still a Record. Hence, for each level,
//
//	scheduled = Σ outcomes
//
// Vegeta supplies the dispatch loop and the worker pool, nothing else. When a
// request is due is decided in our pacer (pacer.go), what it says in our
// prompts (prompts.go), and how it is sent, stamped and judged in our
// transport (exchange.go, stream.go, classify.go): Vegeta's own times start
// when a worker is free, its errors do not tell a reset from a refusal, and a
// stream that breaks looks like a success to it.
//
// Prompts hold no recorded text. They are filler words that each are one token
// in the common vocabularies, as many as the service counted when the trace
// was recorded, and equal where the recorded prompts had equal prefixes.
package replayer
