package detect

import (
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambdac/lambdac/internal/testenv"
)

// TestCalibrateFalseFindings counts what the rules find in ordinary text:
// 4 MB each of Go's sources, of the folders in LAMBDAC_CORPUS (Python's
// library, manuals), and of a service's log in JSON. E-mail addresses, hosts
// and the like in them are what they are; the rest is shown, to be judged.
func TestCalibrateFalseFindings(t *testing.T) {
	testenv.Calibration(t)
	s := scanner(t, Config{})
	count := func(name string, texts [][]byte) {
		size, found := 0, map[string]int{}
		for _, text := range texts {
			size += len(text)
			for _, f := range s.Find(nil, text) {
				found[f.Rule]++
				switch f.Class {
				case Email, IP, MAC, Path, Host:
				default:
					t.Logf("%s: %s: %q", name, f.Rule, text[max(0, f.Start-24):min(f.End, f.Start+60)])
				}
			}
		}
		fmt.Printf("%-40s %5.1f MB:", name, float64(size)/1e6)
		for _, rule := range slices.Sorted(maps.Keys(found)) {
			fmt.Printf(" %s %d", rule, found[rule])
		}
		fmt.Println()
	}
	for _, root := range append([]string{filepath.Join(build.Default.GOROOT, "src")}, strings.Fields(os.Getenv("LAMBDAC_CORPUS"))...) {
		count(root, corpus(t, root, 4e6))
	}
	count("log", [][]byte{jsonLog(4e6)})
}

// corpus reads text files below a folder, evenly, up to a size.
func corpus(t *testing.T, root string, limit int) (texts [][]byte) {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".go", ".py", ".txt", ".md", ".html", ".rst", ".json", ".jsonl", ".js", ".ts":
			if err == nil && d.Type().IsRegular() {
				paths = append(paths, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(paths), func(i, k int) { paths[i], paths[k] = paths[k], paths[i] })
	for _, path := range paths {
		if limit <= 0 {
			break
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text[:min(len(text), 200_000)])
		limit -= len(text)
	}
	return texts
}

// jsonLog invents the log of a service: times, durations, counts, ids.
func jsonLog(size int) []byte {
	rng := rand.New(rand.NewPCG(2, 2))
	var b strings.Builder
	for at := 1789000000000; b.Len() < size; at += rng.IntN(1000) {
		fmt.Fprintf(&b, `{"ts":%d,"time":"2026-09-%02dT%02d:%02d:%02d.%06dZ","level":"info","msg":"request served","trace_id":%q,"span_id":%q,"request_id":"%08x-%04x-4%03x-a%03x-%012x","user_id":%d,"order_id":%016d,"bytes":%d,"duration_ms":%.3f,"status":200,"path":"/v1/items/%d","tokens":{"prompt":%d,"completion":%d},"version":"1.%d.%d","offset":%d}`+"\n",
			at, 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1e6),
			fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()), fmt.Sprintf("%016x", rng.Uint64()),
			rng.Uint32(), rng.IntN(1<<16), rng.IntN(1<<12), rng.IntN(1<<12), rng.Uint64N(1<<48),
			rng.IntN(1e9), rng.Uint64N(1e16), rng.IntN(1e7), rng.Float64()*1e4, rng.IntN(1e6), rng.IntN(4000), rng.IntN(4000), rng.IntN(90), rng.IntN(30), rng.Uint64N(1e12))
	}
	return []byte(b.String())
}
