package sanitizer

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/trace"
)

// Without a key nothing begins: no mode has one that could be guessed.
func TestKeySourceUnavailable(t *testing.T) {
	gone := errors.New("no entropy")
	for _, tc := range []struct {
		name   string
		random func() io.Reader
		want   error
	}{
		{"gone", func() io.Reader { return io.MultiReader(strings.NewReader("sixteen bytes ..."), failing{gone}) }, gone},
		{"short", func() io.Reader { return strings.NewReader("sixteen bytes ...") }, io.ErrUnexpectedEOF},
		{"empty", func() io.Reader { return strings.NewReader("") }, io.EOF},
	} {
		for _, mode := range []trace.Mode{trace.ModeShape, trace.ModeFiller, trace.ModeRedact} {
			s, err := New(Config{Mode: mode, Random: tc.random()}, &memory{})
			if !errors.Is(err, tc.want) || s != nil || !strings.Contains(err.Error(), "read random key") {
				t.Errorf("%s, %s: %v, want %v", tc.name, mode, err, tc.want)
			}
			if _, err := NewResanitizer(Config{Mode: mode, Random: tc.random()}, trace.Seal{Mode: trace.ModeRedact}); !errors.Is(err, tc.want) {
				t.Errorf("%s, %s, again: %v", tc.name, mode, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
