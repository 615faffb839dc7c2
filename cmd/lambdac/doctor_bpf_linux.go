//go:build amd64 || arm64

package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/lambdac/lambdac/bpf"
	"github.com/lambdac/lambdac/internal/hostcheck"
	"github.com/lambdac/lambdac/internal/tlslib"
)

// addPrograms lists the programs and rings, and where nothing is in their way
// lets the kernel verify them: the last word is its own.
func (r *doctorResult) addPrograms() {
	data, control := (&bpf.Options{}).Rings()
	r.Rings = doctorRings{DataBytes: int64(data), ControlBytes: int64(control)}
	list, err := bpf.Programs()
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
	for _, p := range list {
		r.Programs = append(r.Programs, doctorProgram{p.Name, p.Instructions})
	}
	both := []hostcheck.Use{hostcheck.UseEBPF, hostcheck.UseTLS}
	f := hostcheck.Finding{Check: "programs", State: hostcheck.StateOK, Blocks: []hostcheck.Use{}}
	switch err := r.tryPrograms(); {
	case errors.Is(err, errNotTried):
		f.State, f.Blocks, f.Found = hostcheck.StateNo, both, "not tried, for what is above"
		f.Remedy = "see above"
	case err != nil:
		f.State, f.Blocks, f.Found = hostcheck.StateNo, both, "the kernel refuses them: "+oneLine(err)
		f.Remedy = hostcheck.Fallback
	default:
		f.Found = fmt.Sprintf("the kernel accepts all %d, of at most %d instructions", len(r.Programs), bpf.MaxInstructions)
	}
	r.Findings = append(r.Findings, f)
}

// errNotTried is for a host on which loading is known to fail.
var errNotTried = errors.New("not tried")

func (r *doctorResult) tryPrograms() error {
	if hostcheck.Verdict(r.Findings, hostcheck.UseEBPF) == hostcheck.StateNo {
		return errNotTried
	}
	return bpf.Try()
}

// addTLS says of each process which TLS implementations it has and whether
// their plaintext would be seen. Files are not named.
func (r *doctorResult) addTLS() {
	scanner := tlslib.NewScanner("/proc")
	for i := range r.Processes {
		p := &r.Processes[i]
		found, err := scanner.Process(p.PID)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has ended
		case errors.Is(err, fs.ErrPermission):
			p.Notes = append(p.Notes, "its TLS libraries may not be looked at")
		case err != nil:
			p.Notes = append(p.Notes, "its TLS libraries cannot be read")
		default:
			p.TLS = implementations(found)
		}
	}
}

// implementations lists those of a process, each kind of one fate once.
func implementations(p *tlslib.Process) []doctorTLS {
	list, seen := []doctorTLS{}, make(map[doctorTLS]bool)
	for _, file := range p.Files {
		for _, impl := range file.TLS {
			t := doctorTLS{Kind: string(impl.Kind), Covered: impl.Reason == "", Reason: impl.Reason}
			if !seen[t] {
				seen[t] = true
				list = append(list, t)
			}
		}
	}
	return list
}
