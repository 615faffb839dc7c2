package recorder

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func zipped(tb testing.TB, data []byte) string {
	tb.Helper()
	return packed(tb, data, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func packed(tb testing.TB, data []byte, open func(io.Writer) io.WriteCloser) string {
	tb.Helper()
	var b bytes.Buffer
	w := open(&b)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

var codings = map[string]func(w io.Writer) io.WriteCloser{
	"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"zlib": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"raw": func(w io.Writer) io.WriteCloser {
		f, _ := flate.NewWriter(w, 6)
		return f
	},
	"br":   func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
}

// decode feeds coded bytes in pieces.
func decode(names []string, data string, size int) (string, *decoder) {
	d, _ := newDecoder(names)
	defer d.close()
	var out strings.Builder
	for i := 0; i < len(data); i += size {
		d.feed([]byte(data[i:min(i+size, len(data))]), func(b []byte) bool {
			out.Write(b)
			return true
		})
	}
	return out.String(), d
}

func TestDecoder(t *testing.T) {
	text := strings.Repeat("data: {\"choices\":[]}\n\n", 3000)
	one := func(name string) string { return packed(t, []byte(text), codings[name]) }
	rows := []struct {
		name, data string
		codings    []string
		want       string
		trailing   int64
		failed     bool
	}{
		{"gzip", one("gzip"), []string{"gzip"}, text, 0, false},
		{"x-gzip", one("gzip"), []string{"x-gzip"}, text, 0, false},
		{"gzip of two members", one("gzip") + one("gzip"), []string{"gzip"}, text + text, 0, false},
		{"gzip and garbage", one("gzip") + "garbage", []string{"gzip"}, text, 7, false},
		{"deflate", one("zlib"), []string{"deflate"}, text, 0, false},
		{"deflate without header", one("raw"), []string{"deflate"}, text, 0, false},
		{"br", one("br"), []string{"br"}, text, 0, false},
		{"zstd", one("zstd"), []string{"zstd"}, text, 0, false},
		{"zstd of two frames", one("zstd") + one("zstd"), []string{"zstd"}, text + text, 0, false},
		{"stacked", packed(t, []byte(one("br")), codings["gzip"]), []string{"br", "gzip"}, text, 0, false},
		{"not gzip", "hello", []string{"gzip"}, "", 4, true},
		{"unknown", "hello", []string{"compress"}, "", 0, true},
	}
	for _, row := range rows {
		for _, size := range []int{1, 7, 1 << 20} {
			got, d := decode(row.codings, row.data, size)
			if got != row.want {
				t.Errorf("%s in pieces of %d: %d bytes, want %d", row.name, size, len(got), len(row.want))
			}
			check(t, row.name+" failed", d.failed, row.failed)
			if !row.failed {
				check(t, row.name+" trailing", d.trailing, row.trailing)
			}
		}
	}
}

// TestDecoderFlush: after each piece all that a flush completed is out.
func TestDecoderFlush(t *testing.T) {
	for _, name := range []string{"gzip", "br", "zstd"} {
		var b bytes.Buffer
		w := codings[name](&b)
		d, _ := newDecoder([]string{name})
		var got []string
		for _, text := range []string{"one", "two", "three"} {
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
			if err := w.(interface{ Flush() error }).Flush(); err != nil {
				t.Fatal(err)
			}
			out := ""
			d.feed(b.Bytes(), func(p []byte) bool { out += string(p); return true })
			b.Reset()
			got = append(got, out)
		}
		d.close()
		if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestManyCodings: a body coded once more than anyone does is not decoded: each
// coding takes the memory of a decompressor.
func TestManyCodings(t *testing.T) {
	body := "text"
	for n := range maxCodings + 1 {
		body = zipped(t, []byte(body))
		names := slices.Repeat([]string{"gzip"}, n+1)
		d, coding := newDecoder(names)
		got := ""
		d.feed([]byte(body), func(p []byte) bool { got += string(p); return true })
		d.close()
		want, wantCoding := "text", strings.Join(names, ",")
		if n == maxCodings {
			want, wantCoding = "", "other"
		}
		if got != want || coding != wantCoding || d.failed != (want == "") {
			t.Errorf("%d codings: got %q as %q, failed %v", n+1, got, coding, d.failed)
		}
	}
}

// TestDecoderLeavesNothing: coroutines end with their decoder, done or not.
func TestDecoderLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, open := range map[string]string{"gzip": "gzip", "deflate": "zlib", "br": "br", "zstd": "zstd"} {
		data := packed(t, []byte("text"), codings[open])
		for cut := range len(data) {
			decode([]string{name}, data[:cut], 3)
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

func FuzzDecoder(f *testing.F) {
	for name, coding := range map[string]string{"gzip": "gzip", "zlib": "deflate", "raw": "deflate", "br": "br", "zstd": "zstd"} {
		f.Add([]byte(packed(f, []byte("some text, some text"), codings[name])), coding, uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, coding string, size uint8) {
		d, _ := newDecoder([]string{coding})
		if d == nil {
			return
		}
		d.close()
		run := func(size int) string {
			d, _ := newDecoder([]string{coding})
			defer d.close()
			var out []byte
			for i := 0; i < len(data); i += size {
				d.feed(data[i:min(i+size, len(data))], func(b []byte) bool {
					out = append(out, b...)
					return len(out) < 1<<20
				})
			}
			return string(out)
		}
		if whole, pieces := run(len(data)+1), run(int(size)+1); whole != pieces && len(whole) < 1<<20 {
			t.Errorf("whole %d bytes, in pieces %d", len(whole), len(pieces))
		}
	})
}
