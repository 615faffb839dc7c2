package recorder

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// untilTaken stops a recording when the first exchange has come.
type untilTaken struct{ stop context.CancelFunc }

func (u untilTaken) Take(*trace.Exchange) error        { u.stop(); return nil }
func (u untilTaken) Window(*trace.CaptureWindow) error { return nil }

// A named pipe whose writer falls silent in the middle of a packet: a recording
// that is told to stop does not wait for it, and does not call it damaged.
func TestPipeThatStalls(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "captures", "a-openai-python-chat.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = w.Write(data[:30001])
		}
		<-over
		ended <- errors.Join(err, w.Close())
	}()
	src, err := OpenFiles([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Run(ctx, src, untilTaken{cancel}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	close(over)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if rep.Totals.ExchangesSeen == 0 || rep.Source.Cut != nil || len(rep.Warnings) != 0 {
		t.Errorf("report: %+v", rep)
	}
	if _, err := src.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("Next after the end: %v, want io.EOF", err)
	}
}
