package telemetry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKmsg reads records as kernels 5.10 to 6.12 write them.
func TestKmsg(t *testing.T) {
	oneNode := []string{"0/DMA", "0/DMA32", "0/Normal"}
	small := []string{"0/DMA", "0/DMA32"} // a machine with less than 4 GiB
	twoNodes := []string{"0/DMA", "0/DMA32", "0/Normal", "1/Normal"}
	const (
		invoked  = "6,10,100,-;python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
		global   = "6,11,101,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=python3,pid=5,uid=0"
		ofGroup  = "6,11,101,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/c,task_memcg=/c,task=python3,pid=5,uid=0"
		killed   = "3,12,102,-;Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:40kB oom_score_adj:0"
		failed9  = "4,10,100,-;server: page allocation failure: order:9, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null),cpuset=/,mems_allowed=0"
		failedD  = "4,10,100,-;kworker/0:1: page allocation failure: order:4, mode:0xcc1(GFP_KERNEL|GFP_DMA), nodemask=(null)"
		byHand   = "6,10,100,-;sysrq: Manual OOM execution"
		byHand2  = "6,11,101,-;kworker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0"
		oldKill  = "3,11,101,-;Out of memory: Kill process 5 (python3) score 900 or sacrifice child"
		ofNode1  = "4,10,100,-;server: page allocation failure: order:2, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=/,mems_allowed=1"
		ofBoth   = "4,10,100,-;server: page allocation failure: order:2, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=/,mems_allowed=0-1"
		ofUser   = "12,10,100,-;fake: page allocation failure: order:9, mode:0x0()"
		order2   = "6,10,100,-;fork invoked oom-killer: gfp_mask=0xdc0(GFP_KERNEL|__GFP_ZERO), order=2, oom_score_adj=0"
		multi    = "4,10,100,c;a: page allocation failure: order:3, mode:0x0(GFP_ATOMIC)\n SUBSYSTEM=x\n DEVICE=y"
		nonsense = "no record"
	)
	rows := []struct {
		name    string
		zones   []string
		records []string
		want    []string
	}{
		{"the host runs out", oneNode, []string{invoked, global, killed}, []string{"linux.oom.order 0/Normal 0 CONSTRAINT_NONE"}},
		{"below 4 GiB there is no Normal zone", small, []string{invoked, global}, []string{"linux.oom.order 0/DMA32 0 CONSTRAINT_NONE"}},
		{"a group runs out: no zone is at fault", oneNode, []string{invoked, ofGroup}, []string{"linux.oom.order 0 CONSTRAINT_MEMCG"}},
		{"kernels before 5.0", oneNode, []string{invoked, oldKill}, []string{"linux.oom.order 0/Normal 0"}},
		{"order 2 for the kernel itself", oneNode, []string{order2, global}, []string{"linux.oom.order 0/Normal 2 CONSTRAINT_NONE"}},
		{"called, and nobody killed", oneNode, []string{invoked}, nil},
		{"killed by hand", oneNode, []string{byHand, byHand2, global, killed}, nil},
		{"order 9 fails", oneNode, []string{failed9}, []string{"linux.page_alloc.failed 0/Normal 9 page allocation failure"}},
		{"order 9 fails, small machine", small, []string{failed9}, []string{"linux.page_alloc.failed 0/DMA32 9 page allocation failure"}},
		{"DMA memory", oneNode, []string{failedD}, []string{"linux.page_alloc.failed 0/DMA 4 page allocation failure"}},
		{"bound to node 1", twoNodes, []string{ofNode1}, []string{"linux.page_alloc.failed 1/Normal 2 page allocation failure"}},
		{"either of two nodes: not known", twoNodes, []string{ofBoth}, []string{"linux.page_alloc.failed 2 page allocation failure"}},
		{"a program wrote it", oneNode, []string{ofUser}, nil},
		{"a record of several lines", oneNode, []string{multi}, []string{"linux.page_alloc.failed 0/Normal 3 page allocation failure"}},
		{"no zones known", nil, []string{failed9}, []string{"linux.page_alloc.failed 9 page allocation failure"}},
		{"not a record", oneNode, []string{nonsense, ";", "a,b,c;d", "4,1;x"}, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			log, b := kmsgLog{zones: row.zones}, &batch{}
			for _, text := range row.records {
				if r, ok := parseKmsg(text); ok {
					log.take(r, r.us, b)
				}
			}
			got := lines(b.events)
			for i, e := range b.events {
				if e.RawName != nil {
					got[i] += " " + *e.RawName
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKmsgCountsWhatWasOverwritten(t *testing.T) {
	log, b := kmsgLog{}, &batch{}
	var lost uint64
	for _, text := range []string{"6,10,1,-;a", "6,11,2,-;b", "6,15,3,-;c", "6,16,4,-;d"} {
		r, ok := parseKmsg(text)
		if !ok {
			t.Fatalf("%q is a record", text)
		}
		lost += log.take(r, 0, b)
	}
	if lost != 3 {
		t.Errorf("%d records lost, want 3", lost)
	}
}

func FuzzKmsg(f *testing.F) {
	f.Add("6,10,100,-;python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n6,11,101,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)")
	f.Add("4,10,100,-;server: page allocation failure: order:9, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null),cpuset=/,mems_allowed=0")
	f.Add("4,18446744073709551615,-9223372036854775808,-;: page allocation failure: order:99999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		log, b := kmsgLog{zones: []string{"0/DMA", "0/Normal", "1/Normal", "x"}}, &batch{}
		for line := range strings.SplitSeq(text, "\n") {
			if r, ok := parseKmsg(line); ok {
				log.take(r, 0, b)
			}
		}
		for _, e := range b.events {
			if e.Value == nil || *e.Value < 0 || *e.Value > 63 {
				t.Errorf("event %+v: an order is 0 to 63", e)
			}
		}
	})
}
