// Package sim is a simulated inference server that speaks the OpenAI API and
// Anthropic's: the scheduler of package twin behind HTTP, in real time. What a
// client measures against it is what [twin.Capacity] and [twin.ErrorCurve] say
// for the same parameters, since there is no second model: every token leaves
// at the wall time that corresponds to its virtual time.
//
// Endpoints: POST /v1/chat/completions, /v1/completions, /v1/embeddings (with
// or without the /v1), /v1/messages; GET /v1/models, /health, /metrics.
//
// # Tokens
//
// A prompt has one token per word, a word being a run of bytes above 0x20; a
// run longer than 24 bytes has one token per 24 bytes begun. Each message of
// a chat adds Config.MessageOverhead tokens for its template. A prompt given
// as token ids has one token per id. So n filler words of one token each are
// reported as n tokens, plus the overhead.
//
// An answer has exactly max_tokens (or max_completion_tokens) tokens where
// the request says so, up to Config.MaxOutputTokens, and the finish reason
// "length"; otherwise its length is drawn from the mix by seed and the number
// of the request, and the finish reason is "stop". At /v1/messages a limit is
// a must, and the reason is "max_tokens". Each token is one event, written and
// flushed on its own. The role comes with the first token, and the finish
// reason, the usage and the end mark with the last.
//
// Where tool_choice demands a call, the answer is one: of the tool named, or of
// the first; its arguments are {"text": "…"} with the words of the answer, and
// the finish reason is "tool_calls", or "tool_use". Definitions of tools count
// no tokens.
//
// # Questions
//
// Where the last line of the last message is a question of one of four kinds, the
// answer is its solution, worked out as any server would have to, and its length
// the solution's. A share of the answers is wrong: WrongRate, and what a pathology
// adds.
//
//	What is A op B?                      integers of up to 9 digits, op one of + - *
//	What is the code of NAME?            "The code of NAME is DIGITS." stands before it
//	Write the word W backwards.          ASCII letters
//	Reply with exactly this JSON: {…}    one object, on that line
//
// "Answer with …" may follow the first three on their line.
//
// # Instruments
//
// /metrics has vLLM's names, and those that node_exporter and NVIDIA's DCGM
// exporter would have on the simulated host and its GPU, as of the last whole
// second.
//
// # Failures
//
// A shed request is 429 or 503 with Retry-After; one of the base error rate
// is 500 after it was served in full, so it is never cut inside a stream; a
// prompt beyond the context is 400. With pathologies, a request without memory is
// 500 in PyTorch's words, one evicted for good is 503, and a stream that is cut
// ends without its end mark, its connection closed. Several choices or prompts in
// one request are refused with 400.
package sim
