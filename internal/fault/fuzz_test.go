package fault

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParseFlag: whatever is given, it is refused in one line with a hint, or
// it is a fault whose own text is read as the same fault.
func FuzzParseFlag(f *testing.F) {
	for _, seed := range []string{
		"delay,share=5%,delay=500ms,from=10s,for=20s", "network.bandwidth,rate=64KB/s", "limit_data,bytes=1500B",
		"http-5xx,status=503,kind=openai.chat,path=/v1/*,model=m,sessions=20%", "delay,share=1e-320", "delay,delay=1e400ms",
		"token-noise,ratio=33.3333333%", "delay,", ".", "delay,from=9223372036s", "reset,after=1.5KiB", "delay,name= ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseFlag(text)
		if err != nil {
			var fault *Error
			if !errors.As(err, &fault) || fault.Hint == "" || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q: %q is no line with a hint", text, err)
			}
			return
		}
		again, err := ParseFlag(s.String())
		if err != nil {
			t.Fatalf("%q: its text %q: %v", text, s.String(), err)
		}
		if again.String() != s.String() {
			t.Fatalf("%q: %q is read as %q", text, s.String(), again.String())
		}
	})
}
