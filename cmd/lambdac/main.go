// Command lambdac finds the load at which an LLM service tips over: it records
// real traffic without its secrets, replays it at scaled load, and says where
// the service leaves its sub-critical regime and how sure that is.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "devel"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run executes one command line and returns the exit code. The first SIGINT
// or SIGTERM cancels the command's context, so that it stops cleanly; another
// one, a second later or more, ends the process at once.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer heedSignals(cancel)()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	return exitCode(stderr, err)
}

// oneSignal is the time within which signals are one: timeout(1) sends each to
// the process and to its group, and a terminal's reaches a wrapper that passes
// it on.
const oneSignal = time.Second

// heedSignals calls stop at the first signal to end and ends the process at
// the next. It returns what ends that.
func heedSignals(stop func()) (unheed func()) {
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		var first time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					stop()
				case time.Since(first) >= oneSignal:
					os.Exit(128 + int(s.(syscall.Signal)))
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "lambdac",
		Short: "Find the load at which an LLM service tips over",
		Long: `lambdac records real LLM traffic without its secrets, replays it at scaled
load, and finds the critical load λc at which the service tips over, with its
uncertainty.

Results go to stdout, progress and messages to stderr. Exit codes:
  0  pass
  1  objective missed, regression, or audit finding
  2  run invalid or cut short, nothing usable, or objective not measurable
  3  usage, configuration, input, target or permission; nothing was started
  4  aborted by a safety stop, or a replay stopped by the user`,
		Example: `  lambdac demo
  lambdac record --pcap monday.pcap -o traces/monday
  lambdac replay traces/monday --target http://staging:8000 --levels 5,10,20,30,40,50 --hold 60s --warmup 10s -o runs/monday
  lambdac analyze runs/monday --slo 'ttft_user p99 800ms'`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
	}
	root.SetVersionTemplate(versionLine())
	root.PersistentFlags().Bool("quiet", false, "no progress and no messages but warnings and errors")
	useSections(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &exitError{code: exitUsage, err: err, hint: "see lambdac " + commandPath(c) + " --help"}
	})
	root.AddCommand(
		newRecord(), newSanitize(), newShow(), newImport(), newExport(), newDatasets(), newReplay(), newRun(), newMerge(), newAnalyze(), newCompare(),
		newFaultProxy(), newSim(), newDemo(), newDoctor(), newVersion(),
	)
	return root
}

// commandPath is the command without the program's name.
func commandPath(c *cobra.Command) string {
	if !c.HasParent() {
		return ""
	}
	return c.Name()
}
