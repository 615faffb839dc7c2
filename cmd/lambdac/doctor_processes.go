package main

import (
	"fmt"
	"io"
	"os"
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
	// Notes say what of its traffic would not be recorded, and why.
	Notes []string `json:"notes"`
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
		r.Processes = append(r.Processes, doctorProcess{PID: p.PID, Comm: p.Comm, Ports: p.Ports, Notes: notes(p)})
	}
}

// notes say what of a process's traffic would not be recorded, and why.
func notes(p hostcheck.Process) []string {
	list := []string{}
	if p.IOUring {
		list = append(list, "has an io_uring: bytes that it moves are counted, not read")
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
	fmt.Fprintln(w, "\npid\tcomm\tports\tnot recorded")
	for _, p := range list {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", p.PID, p.Comm, strings.Trim(fmt.Sprint(p.Ports), "[]"), strings.Join(p.Notes, "; "))
	}
}
