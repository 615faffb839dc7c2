package analyzer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// tableOf is a table of six loads with two runs each, all values times a factor.
func tableOf(errs int64, slow float64) string {
	var b strings.Builder
	b.WriteString("load_per_s,n,errors,sheds,ttft_p50_ms,ttft_p99_ms,output_tokens_per_s\n")
	for i := range 12 {
		jitter := 1 + 0.005*float64(i*i%5)
		load := 10 * (1 + i/2)
		fmt.Fprintf(&b, "%d,2000,%d,0,%g,%g,%d\n", load, errs+int64(i%3), slow*jitter*float64(load), 3*slow*jitter*float64(load), 100*load)
	}
	return b.String()
}

func TestCompareTables(t *testing.T) {
	tests := []struct {
		name, candidate string
		want            Gate
		reason          string
	}{
		{"the same", tableOf(2, 1), Pass, ""},
		{"30 % slower", tableOf(2, 1.3), Regression, "ttft_user_p99 is worse: +30 %"},
		{"faster", tableOf(2, 0.7), Pass, ""},
		{"2.4 points more errors", tableOf(50, 1), Regression, "error_rate is worse: +2.4 points"},
		{"without the latencies", "load_per_s,n,errors\n" + strings.Repeat("10,2000,2\n20,2000,2\n30,2000,2\n", 2), Undecided, "ttft_user_p99: no regression is not proven; it takes a measurement in the candidate: the baseline has it"},
		{"three loads", "load_per_s,n,errors,ttft_p99_ms\n" + strings.Repeat("10,2000,2,30\n20,2000,2,60\n30,2000,2,90\n", 2), Undecided, "loads 40, 50 and 60 can be judged in the baseline, not in the candidate"},
	}
	base := table(t, tableOf(2, 1))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := CompareTables(base, table(t, test.candidate), nil, CompareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict != test.want || !strings.Contains(strings.Join(c.Reasons, "; "), test.reason) {
				t.Errorf("%s: %q, want %s, %q", c.Verdict, c.Reasons, test.want, test.reason)
			}
		})
	}
	if _, err := CompareTables(base, table(t, "concurrency,n,errors\n1,1,0\n"), nil, CompareOptions{}); !errors.Is(err, ErrIncomparable) {
		t.Errorf("rate and concurrency: %v", err)
	}
}

// A sample without spread against another that hardly has any is a difference
// (cases: rsc/benchstat#7): U = 20, exact p = 2/126, shift −36.2.
func TestCompareTablesUnpaired(t *testing.T) {
	of := func(values ...float64) *Table {
		var text strings.Builder
		text.WriteString("load_per_s,n,errors,p50_ms\n")
		for _, v := range values {
			fmt.Fprintf(&text, "10,100000,0,%g\n", v)
		}
		return table(t, text.String())
	}
	c, err := CompareTables(of(115, 114, 115, 115), of(78.8, 78.8, 78.8, 78.8, 78.8), nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := c.metric(t, "e2e_p50")
	if c.Pairing.Unit != "unpaired" || m.Verdict != Better || !near(*m.PValue, 2.0/126, 1e-9) || !near(*m.Effect.Point, 78.8/115, 1e-9) {
		t.Errorf("%s, %+v", c.Pairing.Unit, m)
	}
	if got := (*m.Effect.Point - 1) * 115; math.Abs(got+36.2) > 1e-9 {
		t.Errorf("shift %g ms", got)
	}
	// No failure in a few requests is no proof that none will come.
	few := func(runs int) *Table { return table(t, "load_per_s,n,errors\n"+strings.Repeat("10,20,0\n", runs)) }
	if c, err = CompareTables(few(4), few(5), nil, CompareOptions{}); err != nil || c.metric(t, "error_rate").NoRegression {
		t.Errorf("0 of 80 and 0 of 100: %v %+v", err, c.metric(t, "error_rate"))
	}
	c, err = CompareTables(of(7, 7, 7, 7), of(7, 7, 7, 7, 7), nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.metric(t, "e2e_p50"); *m.PValue != 1 || m.Verdict != Equivalent || !strings.Contains(m.Reason, "no width") {
		t.Errorf("%+v", m)
	}
	if c, err = CompareTables(of(7, 7), of(9, 9, 9), nil, CompareOptions{}); err != nil || c.Verdict != Undecided || !strings.Contains(c.metric(t, "e2e_p50").Missing, "four runs in each arm") {
		t.Errorf("two runs and three: %v %s %+v", err, c.Verdict, c.metric(t, "e2e_p50"))
	}
}

// A class that the candidate lacks is no pass, and is in no aggregate.
func TestCompareTablesClass(t *testing.T) {
	text := func(embed bool) string {
		var b strings.Builder
		b.WriteString("load_per_s,class,n,errors,p99_ms\n")
		for load := 10; load <= 80; load += 10 {
			fmt.Fprintf(&b, "%d,chat,2000,0,100\n", load)
			if embed {
				fmt.Fprintf(&b, "%d,embed,2000,0,5\n", load)
			}
		}
		return b.String()
	}
	c, err := CompareTables(table(t, text(true)), table(t, text(false)), nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Verdict != Undecided || !strings.Contains(strings.Join(c.Reasons, "; "), "class embed: the baseline answered 16000, the candidate none") {
		t.Errorf("%s %q", c.Verdict, c.Reasons)
	}
	if m := c.metric(t, "e2e_p99"); m.Units != 8 || !near(*m.Baseline, 100, 1e-9) || m.Verdict != Equivalent {
		t.Errorf("%+v", m)
	}
}
