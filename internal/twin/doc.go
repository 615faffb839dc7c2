// Package twin is a serving model of an LLM inference server in virtual time:
// one scheduler with continuous batching, a token budget per step, KV blocks
// with prefix caching, preemption and a bounded queue. It knows no clock and
// no network, so it gives the true capacity and the true error curve of a
// server to any precision; package sim puts the same [Engine] behind HTTP.
//
// # The step
//
// The engine works in steps. A step takes every running sequence, then admits
// waiting ones, and lasts
//
//	StepFixed + PerPrefillToken·(prompt tokens computed) + PerSequence·(sequences in the step)
//
// At its end each sequence whose prompt is computed gets one token. Arrivals
// during a step wait for its end. The order of events at one instant is: end
// of the step, arrivals and cancels in the order of submission, next step.
//
// # What λc means for this server
//
// With a bounded queue and Poisson arrivals at rate λ the server sheds the
// share B(λ) of the requests, and of the rest the share ε0 = ErrorRate fails
// with status 500 at the end of its service (a failing request takes its slot
// and its tokens like any other, so ε0 does not depend on load). What a client
// counts is
//
//	ε(λ) = ε0 + (1 − ε0)·B(λ),   1 − B(λ) → μ/λ for λ ≫ μ
//
// where μ is [Capacity]: the requests served per second, failing ones
// included, while the queue is never empty. Those are the analyzer's families
// "shed" (B = 1 − λc/λ above λc, the limit of a long queue) and "queue"
// (B = (1−ρ)ρ^K/(1−ρ^(K+1)), ρ = λ/λc), and for both the truth to be judged
// against is λcap = μ. B of a batching server is not exactly that of a single
// server with K places: below MaxRunning sequences its rate falls with the
// batch. It agrees the better, the less the batch matters for the rate
// (StepFixed ≪ PerSequence·MaxRunning) and the more of the places are queue.
// With an unbounded queue nothing is shed and errors say nothing about μ; the
// latency diverges there instead.
//
// The served mix equals the offered mix, because a request is shed by the
// number in the system and never by its size.
//
// # Pathologies
//
// A server can be given faults of its own ([Pathologies]), each off by default.
// What they would show on the instruments of its host and its GPU is in the
// [Reading] of each second, once [Engine.Watch] was called. What a pathology
// breaks counts as an error on top of ε above.
package twin
