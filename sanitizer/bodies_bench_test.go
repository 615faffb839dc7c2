//go:build linux

package sanitizer

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lambdac/lambdac/trace"
)

// keywordRich is a chat of about size bytes in which words that detectors start
// from stand in every line, and few of them are findings.
func keywordRich(r *rand.Rand, size int) string {
	lines := []string{
		"the api key of the password reset page is described in docs/security.md, see token rotation",
		"Authorization headers are sent as Bearer tokens; a secret must never be logged (issue 48213)",
		"db_password is read from the environment, access_token from the vault, client_secret from there too",
		"call +0 never; mail goes to nobody at example dot com; host db-7.internal answers at 10 past 12:30:45",
		"export const sk = keys.map(k => k.id); // ghp, hf, xox and AKIA are prefixes of keys",
		"2024-01-02T03:04:05Z level=info msg=\"login ok\" user_id=10482 ip=redacted latency_ms=182 status=200",
	}
	var list []map[string]string
	for n := 0; n < size; {
		var b strings.Builder
		for range 12 {
			b.WriteString(lines[r.IntN(len(lines))])
			b.WriteByte('\n')
		}
		if r.IntN(4) == 0 {
			b.WriteString("key " + secretKey + "\n")
		}
		n += b.Len() + 40
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[len(list)%2], "content": b.String()})
	}
	body, err := json.Marshal(map[string]any{"model": "gpt-4o-mini", "temperature": 0.7, "stream": true, "user": "someone", "messages": list})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// media is a chat with one image of size bytes.
func media(r *rand.Rand, size int) string {
	raw := make([]byte, size*3/4)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		base64.StdEncoding.EncodeToString(raw) + `"}}]}]}`
}

// oneText is a chat of size bytes of which one text is all, with escapes and
// findings in it.
func oneText(r *rand.Rand, size int) string {
	var chat struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal([]byte(keywordRich(r, size)), &chat) // was written above
	var all strings.Builder
	for _, m := range chat.Messages {
		all.WriteString(m.Content)
	}
	return messages(all.String())
}

// cpuTime is what this process has used: on a busy machine, the only time that
// says anything.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkModes is the whole of Take in the shape mode, and in the others what
// they add to it. MB/cpu-s is per second of processor time.
func BenchmarkModes(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, row := range []struct {
		name string
		mode trace.Mode
		body string
	}{
		{"shape/prose=16k", trace.ModeShape, conversation(r, 16<<10)},
		{"shape/keywords=16k", trace.ModeShape, keywordRich(r, 16<<10)},
		{"redact/keywords=16k", trace.ModeRedact, keywordRich(r, 16<<10)},
		{"redact/keywords=256k", trace.ModeRedact, keywordRich(r, 256<<10)},
		{"redact/prose=16k", trace.ModeRedact, conversation(r, 16<<10)},
		{"redact/media=2M", trace.ModeRedact, media(r, 2<<20)},
		{"filler/prose=16k", trace.ModeFiller, conversation(r, 16<<10)},
	} {
		b.Run(row.name, func(b *testing.B) {
			s := start(b, Config{Mode: row.mode, Key: testKey, FeatureShare: 1e-9}, discard{})
			s.targets.seen = everyTarget()
			b.SetBytes(int64(len(row.body)))
			b.ReportAllocs()
			body := []byte(row.body)
			began := cpuTime()
			for b.Loop() {
				if row.mode == trace.ModeShape {
					if err := s.Take(chat(1, 1, row.body)); err != nil {
						b.Fatal(err)
					}
					continue
				}
				x := &trace.Exchange{Record: &trace.Record{}, ReqBody: body}
				x.Record.APIKind, x.Record.ReqComplete = trace.KindOpenAIChat, true
				s.setVocabulary(x.Record, "gpt-4o")
				if !s.keepRequest(x) {
					b.Fatal("not kept")
				}
				s.tally.list = s.tally.list[:0]
			}
			b.ReportMetric(float64(len(body)*b.N)/1e6/(cpuTime()-began).Seconds(), "MB/cpu-s")
		})
	}
}

// BenchmarkAddedDelay is the time of Take for one 16 kB body, as percentiles of
// this thread's own time: what others do on a busy machine is not in it.
func BenchmarkAddedDelay(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, row := range []struct {
		name string
		mode trace.Mode
		body string
	}{
		{"shape", trace.ModeShape, keywordRich(r, 16<<10)},
		{"redact", trace.ModeRedact, keywordRich(r, 16<<10)},
		{"filler", trace.ModeFiller, keywordRich(r, 16<<10)},
		{"filler/chinese", trace.ModeFiller, samplesOf(r, "chinese", 16<<10)},
		{"filler/code", trace.ModeFiller, samplesOf(r, "code", 16<<10)},
		{"filler/mixed", trace.ModeFiller, samplesOf(r, "mixed", 16<<10)},
	} {
		b.Run(row.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			s := start(b, Config{Mode: row.mode, Key: testKey, FeatureShare: 1e-9}, discard{})
			s.targets.seen = everyTarget()
			var took []time.Duration
			for n := uint64(0); b.Loop(); n++ {
				x := chat(n, int64(n), row.body)
				began := threadTime()
				if err := s.Take(x); err != nil {
					b.Fatal(err)
				}
				took = append(took, threadTime()-began)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e6, "ms/p50")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "ms/p99")
		})
	}
}

// threadTime is what this thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // cannot fail
	return time.Duration(t.Nano())
}

// samplesOf is a chat of size bytes with texts of a kind.
func samplesOf(r *rand.Rand, kind string, size int) string {
	var list []map[string]string
	for n := 0; n < size; {
		text := sample(r, kind)
		n += len(text) + 40
		list = append(list, map[string]string{"role": "user", "content": text})
	}
	return string(mustJSON(map[string]any{"model": "gpt-4o-mini", "messages": list}))
}

// BenchmarkMemory is the most memory that sanitizers hold beyond bodies of 16 MiB,
// one at a time and eight at once.
func BenchmarkMemory(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, row := range []struct {
		name, body string
		workers    int
	}{
		{"keywords=1", keywordRich(r, 16<<20-1<<16), 1},
		{"keywords=8", keywordRich(r, 16<<20-1<<16), 8},
		{"one text=8", oneText(r, 16<<20-1<<16), 8},
		{"media=8", media(r, 16<<20-1<<10), 8},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(peakOf(b, row.body, row.workers))/(1<<20), "MiB/peak")
			}
		})
	}
}

// peakOf runs workers and returns the most heap in use above what their bodies
// take.
func peakOf(b *testing.B, body string, workers int) uint64 {
	var all []*Sanitizer
	var exchanges []*trace.Exchange
	for i := range workers {
		all = append(all, start(b, Config{Mode: trace.ModeRedact, Key: testKey, FeatureShare: 1e-9}, discard{}))
		exchanges = append(exchanges, chat(uint64(i), 1, body))
	}
	// As a process that is told how much it may have.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(512 << 20))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			if err := s.Take(exchanges[i]); err != nil {
				b.Error(err)
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	peak := uint64(0)
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case <-done:
			tick.Stop()
			return peak
		case <-tick.C:
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse-min(before.HeapInuse, now.HeapInuse))
		}
	}
}
