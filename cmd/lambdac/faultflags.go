package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lambdac/lambdac/internal/fault"
)

// faultFlags are the faults of a command line.
type faultFlags struct{ texts []string }

func (o *faultFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&o.texts, "fault", nil,
		"inject a `fault`, such as delay,share=5%,delay=500ms,from=10s,for=20s; may be given again; lambdac fault-proxy --list names them all")
}

// specs parses the faults.
func (o *faultFlags) specs() (specs []fault.Spec, err error) {
	for _, text := range o.texts {
		s, err := fault.ParseFlag(text)
		if err != nil {
			return nil, faultError(err)
		}
		specs = append(specs, s)
	}
	return specs, faultError(fault.CheckTogether(specs))
}

// faultError gives the errors of faults their exit code. They say themselves
// what to try.
func faultError(err error) error {
	if told := (*fault.Error)(nil); errors.As(err, &told) {
		return &exitError{code: exitUsage, err: err}
	}
	return err
}

// listFaults prints the table of faults.
func listFaults(w io.Writer) error {
	var b strings.Builder
	layer := fault.Layer("")
	for _, l := range fault.Layers {
		for _, k := range fault.Kinds() {
			if k.Layer != l {
				continue
			}
			if k.Layer != layer {
				layer = k.Layer
				fmt.Fprintf(&b, "%s\n", layer)
			}
			fmt.Fprintf(&b, "  %-16s %s\n", k.Type, k.About)
			if len(k.Parameters) > 0 {
				fmt.Fprintf(&b, "  %-16s   %s\n", "", strings.Join(k.Parameters, " "))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
