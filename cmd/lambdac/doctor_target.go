package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
)

// clientSchema is the value of clientResult.Schema.
const clientSchema = "lambdac.doctor-target/v1"

// clientResult is doctor --target --json: what this machine can send.
type clientResult struct {
	Schema string `json:"schema"`
	// Version is that of the program.
	Version  string   `json:"version"`
	Warnings []string `json:"warnings"`
	// Reachable: the target answers like an API; Reason says why not.
	Reachable bool   `json:"reachable"`
	Reason    string `json:"reason"`
	// Client is what this machine can send.
	Client replayer.Roofline `json:"client"`
}

// doctorTarget asks whether the target answers, and measures what this machine
// could send it. The target gets one GET, the load goes to a stub of our own.
func doctorTarget(c *cobra.Command, target string, asJSON bool) error {
	u := newUI(c)
	r := clientResult{Schema: clientSchema, Version: version, Warnings: []string{}, Reachable: true}
	cfg := replayer.Config{Target: target, Headers: targetHeaders(os.Environ())}
	// Nothing was recorded here, so no host is known to be production.
	unreachable := replayer.Preflight(c.Context(), cfg, &trace.Manifest{})
	if unreachable != nil {
		r.Reachable, r.Reason = false, strings.TrimPrefix(unreachable.Error(), replayer.ErrInput.Error()+": ")
	}
	roof, err := replayer.MeasureRoofline(c.Context(), func(perS float64) {
		u.progress("sending %g streams/s to a stub on this machine", perS)
	})
	if err != nil {
		return replayError(err, "")
	}
	r.Client = *roof
	if asJSON {
		err = printJSON(c.OutOrStdout(), &r)
	} else {
		_, err = fmt.Fprint(c.OutOrStdout(), r.text(target))
	}
	if err != nil {
		return err
	}
	if unreachable != nil {
		return &exitError{code: exitMissed}
	}
	return nil
}

func (r *clientResult) text(target string) string {
	var b strings.Builder
	if r.Reachable {
		fmt.Fprintf(&b, "target      %s answers\n", target)
	} else {
		fmt.Fprintf(&b, "target      %s\n", r.Reason)
	}
	fmt.Fprintf(&b, "client      %s\n", r.Client.String())
	if r.Client.OffsetP50Us != nil {
		fmt.Fprintf(&b, "offset      %d µs are added to a TTFT by client, loopback and stub (median, %d-event streams)\n", *r.Client.OffsetP50Us, r.Client.EventsPerStream)
	}
	fmt.Fprintf(&b, "open files  %s\n", known(r.Client.OpenFiles, "each request in flight takes one; raise it with ulimit -n"))
	fmt.Fprintf(&b, "ports       %s\n", known(r.Client.PortRange, "each connection to one address takes one"))
	return b.String()
}

func known(n *int, note string) string {
	if n == nil {
		return "not told by this system"
	}
	return fmt.Sprintf("%d (%s)", *n, note)
}
