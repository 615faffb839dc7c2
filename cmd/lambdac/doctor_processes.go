package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lambdac/lambdac/internal/hostcheck"
)

// doctorProcess is a process that listens, and what would be recorded of it.
type doctorProcess struct {
	// PID is the process's number.
	PID int `json:"pid"`
	// Comm is its short name.
	Comm string `json:"comm"`
	// Ports are the TCP ports on which it listens.
	Ports []int `json:"ports"`
	// TLS are the implementations of TLS in it.
	TLS []doctorTLS `json:"tls"`
	// Notes say what of its traffic would not be recorded, and why.
	Notes []string `json:"notes"`
}

// doctorTLS is an implementation of TLS in a process.
type doctorTLS struct {
	// Kind is the implementation, such as openssl, go or rustls.
	Kind string `json:"kind"`
	// Covered reports whether record --ebpf --tls would see its plaintext.
	Covered bool `json:"covered"`
	// Reason is why it would not; empty where it would.
	Reason string `json:"reason"`
}

// addProcesses lists the processes that listen on the ports.
func (r *doctorResult) addProcesses(ports []int) {
	list, hidden, err := hostcheck.Processes(os.DirFS("/"), ports, os.Getpid())
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("list processes: %v", err))
	}
	if hidden > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d processes may not be looked at without CAP_SYS_PTRACE", hidden))
	}
	for _, p := range list {
		r.Processes = append(r.Processes, doctorProcess{PID: p.PID, Comm: p.Comm, Ports: p.Ports, TLS: []doctorTLS{}, Notes: notes(p)})
	}
}

// notes say what of a process's traffic would not be recorded, and why.
func notes(p hostcheck.Process) []string {
	list := []string{}
	if p.IOUring {
		list = append(list, "has an io_uring: bytes that it moves are counted, not read")
	}
	if p.Bits32 {
		list = append(list, "is a program of 32 bits: its calls are counted, not read")
	}
	if p.QUIC {
		list = append(list, "serves QUIC: not read")
	}
	return list
}

func printProcesses(w io.Writer, list []doctorProcess) {
	if len(list) == 0 {
		fmt.Fprintln(w, "\nno process listens")
		return
	}
	fmt.Fprintln(w, "\npid\tcomm\tports\ttls\tnot recorded")
	for _, p := range list {
		var kinds []string
		lost := slices.Clone(p.Notes)
		for _, t := range p.TLS {
			kinds = append(kinds, t.Kind)
			if !t.Covered {
				lost = append(lost, t.Kind+": "+t.Reason)
			}
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", p.PID, p.Comm, strings.Trim(fmt.Sprint(p.Ports), "[]"),
			strings.Join(kinds, ", "), strings.Join(lost, "; "))
	}
}
