package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambdac/lambdac/recorder"
	"github.com/lambdac/lambdac/sanitizer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// recording is one way from a source to a directory.
type recording struct {
	out   string
	force bool
	// live: the traffic does not come again, so a part is closed each second.
	live bool
	how  recorder.Config
	// mode is what is kept of texts, tokenizer the vocabulary of filler.
	mode      trace.Mode
	tokenizer string
	// policy is what is kept; its zero value is the default one.
	policy sanitizer.Policy
	// progress is called at each second of the capture; nil = never.
	progress func()
}

// from records a source to its end: recorder, sanitizer, directory. Whatever
// ends it, what was written is complete and readable, and the manifest says
// what is not there.
func (r *recording) from(ctx context.Context, src recorder.Source) (recorder.Report, error) {
	r.how.Version, r.how.KeepText = version, true
	if src.Name() != "pcap" {
		r.how.Host, _ = os.Hostname() // "" = not known; written as a pseudonym
	}
	cfg := sanitizer.Config{Policy: r.policy, Mode: r.mode, Vocabulary: r.tokenizer, Version: version, Live: src.Name() != "pcap"}
	seal, err := sanitizer.Seal(cfg)
	if err != nil {
		return recorder.Report{}, fmt.Errorf("seal trace: %w", err)
	}
	dir, err := tracedir.Create(filepath.Clean(r.out), newManifest(trace.OriginCapture, &seal), tracedir.Options{Force: r.force, Live: r.live})
	if err != nil {
		return recorder.Report{}, err
	}
	clean, err := sanitizer.New(cfg, dir)
	if err != nil {
		return recorder.Report{}, errors.Join(fmt.Errorf("start sanitizer: %w", err), dir.Close())
	}
	rep, ran := recorder.Run(ctx, src, watched{clean, r.progress}, r.how)
	if ctx.Err() != nil && !r.live {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("stopped before the capture's end: %d bytes of it were read", rep.Source.ReadBytes))
	}
	stored := clean.Close()
	stored = cmp.Or(stored, dir.SetManifest(func(m *trace.Manifest) {
		m.Clean = stored == nil && (ran == nil || damaged(ran))
		m.Warnings = append(m.Warnings, rep.Warnings...)
		// Without the file: its path names the one who made the trace.
		if broken := (*recorder.CaptureError)(nil); errors.As(ran, &broken) {
			m.Warnings = append(m.Warnings, fmt.Sprintf("a capture file is damaged at byte %d: %s", broken.Offset, broken.Problem))
		}
	}))
	stored = cmp.Or(stored, dir.Close())
	if !damaged(ran) {
		stored = cmp.Or(ran, stored)
	}
	return rep, cmp.Or(stored, ran)
}

// damaged reports an error of the input: what was good of it is in the trace.
func damaged(err error) bool { return errors.As(err, new(*recorder.CaptureError)) }

// watched is a sink whose seconds are told of.
type watched struct {
	*sanitizer.Sanitizer
	second func()
}

// Window implements [recorder.Sink].
func (w watched) Window(row *trace.CaptureWindow) error {
	if w.second != nil {
		w.second()
	}
	return w.Sanitizer.Window(row)
}

// flows reports whether one of the captures is a pipe: it may be traffic of
// this moment, which does not come again.
func flows(paths []string) bool {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" {
			info, err = os.Stdin.Stat()
		}
		if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0 {
			return true
		}
	}
	return false
}

// sizeOf is the size of the captures together; 0 = unknown.
func sizeOf(paths []string) (size int64) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		size += info.Size()
	}
	return size
}

// showProgress tells how far a recording is, of size bytes of capture files
// (0 = nobody knows).
func showProgress(u *ui, src recorder.Source, size int64) func() {
	began := time.Now()
	u.last = began
	return func() {
		if !u.due() {
			return
		}
		s := src.Stats()
		took := time.Since(began)
		unit := "packets"
		if src.Name() == "ebpf" {
			unit = "reads and writes"
		}
		text := fmt.Sprintf("recording: %d %s, %.0f/s", s.Packets, unit, float64(s.Packets)/took.Seconds())
		if s.KernelDrops > 0 {
			text += fmt.Sprintf(", %d dropped", s.KernelDrops)
		}
		if size > 0 && s.ReadBytes > 0 {
			left := time.Duration(float64(took) * float64(max(0, size-s.ReadBytes)) / float64(s.ReadBytes))
			text += fmt.Sprintf(", %.0f %% read, %s left", 100*float64(s.ReadBytes)/float64(size), left.Round(time.Second))
		}
		u.progress("%s", text)
	}
}

// nothing explains a recording without an exchange, by what was seen instead.
func nothing(rep *recorder.Report) error {
	s := &rep.Source
	var seen []string
	for _, part := range []struct {
		n    int64
		text string
	}{
		{s.Filtered, "%d to and from other ports"},
		{s.Undecoded["not_ip"] + s.Undecoded["not_tcp"], "%d not of TCP"},
		{s.Segments, "%d of TCP"},
	} {
		if part.n > 0 {
			seen = append(seen, fmt.Sprintf(part.text, part.n))
		}
	}
	text := fmt.Sprintf("no HTTP exchange was seen in %d packets", s.Packets)
	if len(seen) > 0 {
		text += ": " + strings.Join(seen, ", ")
	}
	return &exitError{exitInvalid, errors.New(text), nothingHint(rep)}
}

func nothingHint(rep *recorder.Report) string {
	switch s := &rep.Source; {
	case s.Packets == 0:
		return "check the port and the interface, and that there was traffic"
	case s.Segments == 0 && s.Filtered > 0:
		return "check --port: it is the server's"
	case rep.Totals.LostByReason["blind:tls"] > 0:
		return "the traffic is encrypted: give --tls-keylog, or capture behind the proxy that ends TLS"
	default:
		return "check that the capture holds the service's traffic; see the warnings above"
	}
}
