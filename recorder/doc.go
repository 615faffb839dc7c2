// Package recorder turns bytes seen on the wire into exchanges: packets of a
// file, an interface or an in-process tap become ordered streams, streams
// become HTTP messages, and a request with its answer becomes one
// [trace.Exchange] whose Record holds its times, sizes, counts and outcome.
//
// Nothing here writes to disk and nothing here removes a secret: a [Sink]
// takes each exchange as soon as it has ended, and the sanitizer is that sink.
//
// Time is always that of the packets. There is no idle timeout anywhere: a
// message ends by its framing, by the end of its connection, or by the end of
// the capture.
//
// What the capture missed is an outcome of the capture and never an error of
// the service, and everything that is left out is counted (see [Report] and
// [trace.CaptureWindow]).
package recorder
