package sim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// scrape reads /metrics.
func (b *bench) scrape(t *testing.T) string {
	t.Helper()
	resp, err := b.client.Get("http://sim/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// series reads a value of /metrics, 0 where there is none.
func series(t *testing.T, b *bench, name string) (value float64) {
	t.Helper()
	for line := range strings.Lines(b.scrape(t)) {
		if rest, is := strings.CutPrefix(line, name+" "); is {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return value
}

// TestBrokenAnswers: what pathologies break looks on the wire as it does with real
// servers.
func TestBrokenAnswers(t *testing.T) {
	const n = 1000
	outcomes := func(name, body string) map[string]int {
		kinds, cfg := map[string]int{}, quick()
		p := twin.DemoParams(1)
		p.ErrorRate, p.MaxQueue, p.Pathologies = 0, twin.Unbounded, []string{name}
		cfg.Params = p.Faster(1000)
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			for range n {
				resp, text, err := b.try("/v1/chat/completions", body)
				switch {
				case resp == nil:
					kinds["no answer"]++
				case err != nil:
					kinds["broken off"]++
				case resp.StatusCode != http.StatusOK:
					kinds[fmt.Sprintf("%d %s", resp.StatusCode, text)]++
				default:
					kinds["whole"]++
				}
			}
			if got := series(t, b, `lambdac_sim_broken_total{engine="0",model_name="m"}`); int(got) != n-kinds["whole"] {
				t.Errorf("%s: %v are counted as broken, seen %v", name, got, kinds)
			}
		})
		return kinds
	}
	const ask = `{"max_tokens":5,"messages":[{"role":"user","content":"hello"}]}`
	streamed := strings.Replace(ask, "{", `{"stream":true,`, 1)
	if kinds := outcomes(twin.StreamCut, streamed); kinds["broken off"] < n/50 || kinds["broken off"] > n/20 || kinds["broken off"]+kinds["whole"] != n {
		t.Errorf("cut streams: %v", kinds)
	}
	if kinds := outcomes(twin.StreamCut, ask); kinds["no answer"] < n/50 || kinds["no answer"]+kinds["whole"] != n {
		t.Errorf("cut answers: %v", kinds)
	}
}

// TestOutOfMemory: 500 with PyTorch's words, and the exporters of the machine tell
// why: which order, and that memory was there.
func TestOutOfMemory(t *testing.T) {
	for _, tt := range []struct{ pathology, series string }{
		{twin.KVFragmentation, `linux_page_alloc_failed_total{node="0",order="7",zone="Normal"}`},
		{twin.MemoryExhaustion, "node_vmstat_oom_kill"},
	} {
		t.Run(tt.pathology, func(t *testing.T) {
			cfg := quick()
			p := twin.DemoParams(1)
			p.ErrorRate, p.Pathologies = 0, []string{tt.pathology}
			cfg.Params = p.Faster(1000)
			inBubble(t, cfg, func(t *testing.T, b *bench) {
				d := b.server.driver
				for range 15_000 { // without HTTP, which takes a hundred times as long
					d.submit(twin.Job{ID: d.number(), InputTokens: 1, OutputTokens: 1})
					time.Sleep(time.Millisecond) // of the bubble, as all that follow
				}
				for failed := false; !failed; {
					resp, text := b.post(t, "/v1/completions", `{"max_tokens":1,"prompt":"a"}`)
					if failed = resp.StatusCode != http.StatusOK; !failed {
						time.Sleep(time.Second)
						continue
					}
					if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "CUDA out of memory. Tried to allocate") {
						t.Errorf("status %d: %s", resp.StatusCode, text)
					}
				}
				time.Sleep(2 * time.Second)
				if got := series(t, b, tt.series); got < 1 {
					t.Errorf("%s is %v", tt.series, got)
				}
				if got := series(t, b, "server_allocation_failures_total"); got < 1 {
					t.Errorf("allocation failures: %v", got)
				}
				if free := series(t, b, "node_memory_MemFree_bytes"); tt.pathology == twin.KVFragmentation && free < 28<<20 {
					t.Errorf("%v bytes are free", free)
				}
			})
		})
	}
}

// TestExporters: an idle and healthy machine from the first moment on.
func TestExporters(t *testing.T) {
	inBubble(t, quick(), func(t *testing.T, b *bench) {
		for name, want := range map[string]float64{
			`node_buddyinfo_blocks{node="0",size="10",zone="Normal"}`:                                                         64,
			`node_buddyinfo_blocks{node="0",size="10",zone="DMA"}`:                                                            3,
			`node_memory_MemTotal_bytes`:                                                                                      256 << 20,
			`node_zoneinfo_min_pages{node="0",zone="Normal"}`:                                                                 512,
			`DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="` + twin.GPUName + `",device="nvidia0",modelName="simulated",Hostname="sim"}`: 1980,
			`server_memory_largest_free_bytes`:                                                                                256 << 20,
		} {
			if got := series(t, b, name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	})
}
