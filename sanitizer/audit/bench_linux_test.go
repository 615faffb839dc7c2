package audit

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

// cpu is the time that this thread has had, whatever else the machine does.
func cpu(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// chat makes a text rich in what rules begin with: names of secrets, numbers,
// marks of addresses.
func chat(rng *rand.Rand) []byte {
	sentences := []string{
		"The token is read from the environment, and the API key must not be logged. ",
		"Please rotate the password every 90 days; see section 4.2.1 of the policy. ",
		"In 2024-10-22T10:00:00Z the request took 1,234.56 ms and used 812 tokens. ",
		"def get_secret(name: str) -> str:\\n    return client.secrets.get(name)\\n",
		"She said that the meeting is on Tuesday, so we should call the office before. ",
		"curl -H \\\"X-Api-Key: $KEY\\\" https://api.example.com/v1/models?limit=10\\n",
		"The max_tokens, prompt_tokens and completion_tokens fields are numbers. ",
		"path/to/file-name_v2.txt has user-id=42, session: none, cookie: none. ",
	}
	var s strings.Builder
	for range 200 {
		s.WriteString(sentences[rng.IntN(len(sentences))])
	}
	return []byte(s.String())
}

func BenchmarkText(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 5))
	var texts [][]byte
	total := 0
	for range 64 {
		texts = append(texts, chat(rng))
		total += len(texts[len(texts)-1])
	}
	benchmark(b, texts, total)
}

// BenchmarkDirectory audits a trace whose bodies are such texts.
func BenchmarkDirectory(b *testing.B) {
	path := filepath.Join(b.TempDir(), "trace")
	w, err := tracedir.Create(path, manifest(), tracedir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 256 {
		r := &trace.Record{}
		r.RequestID, r.Method, r.PathTemplate = invent(uint64(i), 32, hex16), "POST", "/v1/chat/completions"
		r.Bodies = []trace.Body{{RequestID: r.RequestID, Side: trace.SideRequest, Body: chat(rng)}}
		if err := w.Write(r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, total := cpu(b), int64(0)
	for b.Loop() {
		r, err := Audit(path)
		if err != nil || !r.Clean {
			b.Fatalf("%v, clean %v", err, r.Clean)
		}
		total += r.Bytes
	}
	b.ReportMetric(float64(total)/1e6/(cpu(b)-before).Seconds(), "MB/cpu-s")
}

// BenchmarkIDs is what most columns hold: short words.
func BenchmarkIDs(b *testing.B) {
	var texts [][]byte
	total := 0
	for i := range 20_000 {
		texts = append(texts, []byte(invent(uint64(i), 32, hex16)), []byte("application/json"), []byte("/v1/chat/completions"))
		total += 32 + 16 + 20
	}
	benchmark(b, texts, total)
}

func benchmark(b *testing.B, texts [][]byte, total int) {
	table, err := newTable()
	if err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.SetBytes(int64(total))
	before := cpu(b)
	for b.Loop() {
		for _, text := range texts {
			table.find(text)
		}
	}
	b.ReportMetric(float64(total)*float64(b.N)/1e6/(cpu(b)-before).Seconds(), "MB/cpu-s")
}
