package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRead: what a guest says, and what is made of it; only a guest that came
// to its end, in which some test passed and none failed, has passed.
func TestRead(t *testing.T) {
	const good = "kerneltest: kernel 6.1.0-50-cloud-amd64\r\n=== RUN   TestA\n    --- PASS: TestA/x (0.00s)\n--- PASS: TestA (0.04s)\n--- SKIP: TestB (0.00s)\nPASS\n"
	rows := []struct {
		name, said       string
		pass, fail, skip []string
		passed           bool
	}{
		{"good", good + "kerneltest: exit bpf 0\nkerneltest: done\n", []string{"TestA"}, nil, []string{"TestB"}, true},
		{"no end", good + "kerneltest: exit bpf 0\n", []string{"TestA"}, nil, []string{"TestB"}, false},
		{"error", good + "kerneltest: exit bpf 0\nkerneltest: error mount\n", []string{"TestA"}, nil, []string{"TestB"}, false},
		{"one failed", good + "--- FAIL: TestC (1.00s)\nkerneltest: exit bpf 1\nkerneltest: done", []string{"TestA"}, []string{"TestC"}, []string{"TestB"}, false},
		{"panic", good + "panic: x\nkerneltest: exit bpf 2\nkerneltest: done\n", []string{"TestA"}, nil, []string{"TestB"}, false},
		{"killed", good + "kerneltest: exit bpf -1\nkerneltest: done\n", []string{"TestA"}, nil, []string{"TestB"}, false},
		{"no tests", "PASS\nkerneltest: exit bpf 0\nkerneltest: done\n", nil, nil, nil, false},
		{"nothing", "", nil, nil, nil, false},
	}
	for _, row := range rows {
		var r result
		r.read(strings.NewReader(row.said))
		if r.passed() != row.passed {
			t.Errorf("%s: passed %v", row.name, r.passed())
		}
		for _, list := range []struct{ want, got []string }{{row.pass, r.pass}, {row.fail, r.fail}, {row.skip, r.skip}} {
			if diff := cmp.Diff(list.want, list.got); diff != "" {
				t.Errorf("%s: %s", row.name, diff)
			}
		}
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	r := result{kernel: "6.1.0", pass: []string{"TestA"}, skip: []string{"TestB"}, done: true, took: 1500 * time.Millisecond}
	r.print(&out, "6.1")
	r = result{fail: []string{"TestC"}, said: []string{"--- FAIL: TestC"}, trouble: "stopped after 2s"}
	r.print(&out, "6.12")
	want := "ok\tkernel 6.1 (6.1.0)\t1 passed, 0 failed, 1 skipped\t1.5s\n\tskipped: TestB\n" +
		"--- FAIL: TestC\nFAIL\tkernel 6.12 ()\t0 passed, 1 failed, 0 skipped\t0.0s\n\tfailed: TestC\n\tstopped after 2s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
