// Package fault injects faults into HTTP exchanges with LLM services and the
// stores beside them: into those that a replay sends, and into those of other
// programs that pass through its proxy.
//
// A [Spec] is one fault: what it does, to which share of which exchanges, and
// when. It is parsed by one table ([Kinds]); each fault has a file of its own.
// Whether an exchange is faulted is a hash of the seed, its id and the fault's
// name, so that two arms of an experiment fault the same exchanges.
//
// Faults above TCP are applied by an [Injector], exchange by exchange. Faults
// of the network are toxiproxy's: an exchange that is chosen for one goes over
// connections of its own that pass a proxy with just these toxics, set before
// the first byte. Toxics are never changed under traffic, so none misses a
// connection that was kept alive.
package fault
