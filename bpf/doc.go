// Package bpf is the kernel side of the recorder: programs that copy what
// processes read and write on the connections asked for, and the loader that
// attaches them. It knows nothing of HTTP.
//
// The layout of what the kernel says is events.h; event.go and counter.go are
// its Go side. Nothing is pinned: programs, maps and links go with the process
// that loaded them, however that ends.
package bpf
