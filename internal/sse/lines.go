package sse

import "bytes"

// Lines reads newline-delimited JSON: one event a line, blank lines skipped.
// The zero value is ready to use. It is not safe for concurrent use.
type Lines struct {
	// MaxEvent bounds the bytes kept of one line; 0 = 16 MiB.
	MaxEvent int

	line    lineReader
	begun   bool
	dropped int64
}

// Feed reads the next bytes of the stream and calls emit for every line that
// they complete.
func (l *Lines) Feed(p []byte, emit func(Event)) {
	l.line.max = l.MaxEvent
	if l.line.max <= 0 {
		l.line.max = defaultMaxEvent
	}
	for {
		line, over, ok := l.line.next(&p)
		if !ok {
			return
		}
		l.take(line, over, false, emit)
	}
}

// Close hands out the last line where it has no line end.
func (l *Lines) Close(emit func(Event)) {
	if line, over, ok := l.line.rest(); ok {
		l.take(line, over, true, emit)
	}
}

// Held is the number of bytes kept of a line that is not complete.
func (l *Lines) Held() int { return len(l.line.part) }

// Forget gives up what is held of a line that is not complete, as if that were
// over MaxEvent.
func (l *Lines) Forget() { l.line.forget() }

// Dropped is the number of bytes left out because of MaxEvent.
func (l *Lines) Dropped() int64 { return l.dropped }

func (l *Lines) take(line []byte, over int64, partial bool, emit func(Event)) {
	if !l.begun {
		l.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	l.dropped += over
	if line = bytes.TrimSpace(line); len(line) > 0 {
		emit(Event{Data: line, Partial: partial, Cut: over, End: l.line.end})
	}
}
