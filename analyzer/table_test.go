package analyzer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func table(t testing.TB, text string) *Table {
	t.Helper()
	tab, err := ReadTable(strings.NewReader(text), "results.csv")
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestReadTableErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"a header only", "load_per_s,n,errors\n", "a header and no line"},
		{"no header", "10,1000,0\n20,1000,3\n", `line 1: no column load_per_s or offered_per_s or concurrency, no column n, no column errors; the header has ["10" "1000" "0"]`},
		{"two loads", "load_per_s,concurrency,n,errors\n", "two columns for the load, load_per_s and concurrency: keep one"},
		{"a column twice", "load_per_s,n,errors,n\n", `line 1, column 21: the column "n" is there twice`},
		{"not a number", "load_per_s,n,errors\n10,100,0\n20,many,0\n", `line 3, column 4: n "many" is not a number`},
		{"not finite", "load_per_s,n,errors\ninf,100,0\n", `line 2, column 1: load_per_s "inf" is not a number`},
		{"a load of 0", "load_per_s,n,errors\n0,100,0\n", `load_per_s "0" is not above 0`},
		{"negative", "load_per_s,n,errors,p99_ms\n10,100,0,-5\n", `line 2, column 10: p99_ms "-5" is negative`},
		{"a negative time", "load_per_s,n,errors,dwell_s\n10,100,0,-5\n", `dwell_s "-5" is not above 0`},
		{"half an error", "load_per_s,n,errors\n10,100,0.5\n", `errors "0.5" is not a whole number`},
		{"an empty load", "load_per_s,n,errors\n,100,0\n", `load_per_s "" is not a number`},
		{"more errors than requests", "load_per_s,n,errors\n10,100,101\n", "line 2: 101 errors of 100 requests"},
		{"more sheds than errors", "load_per_s,n,errors,sheds\n10,100,5,6\n", "line 2: 6 sheds among 5 errors"},
		{"no request", "load_per_s,n,errors\n10,0,0\n", "line 2: n is 0"},
		{"quantiles out of order", "load_per_s,n,errors,ttft_p50_ms,ttft_p99_ms\n10,100,0,50,40\n", "line 2: quantiles out of order: ttft_user_p50 50 ms is above ttft_user_p99 40 ms"},
		{"a run twice", "load_per_s,run,n,errors\n10,a,100,0\n20,a,100,0\n10,a,100,0\n", "line 4 repeats the load, run and class of line 2"},
		{"a field too many", "load_per_s,n,errors\n10,100,0,7\n", "line 2"},
		{"an open quote", "load_per_s,n,errors\n10,\"100,0\n", "line 2"},
	}
	for _, test := range tests {
		_, err := ReadTable(strings.NewReader(test.text), "results.csv")
		if err == nil || !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"results.csv"`) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestReadTable(t *testing.T) {
	tab := table(t, "\ufeffLoad_per_s, n ,errors,ttft_p50_ms,vendor_score,p99.9_ms,sheds\n10,100.0,1,12.5,7,NA,\n")
	if len(tab.rows) != 1 || tab.rows[0].n != 100 || tab.rows[0].ms[0] != 12.5 || tab.rows[0].ms[1] >= 0 || tab.rows[0].sheds >= 0 {
		t.Errorf("%+v", tab.rows)
	}
	if got := fmt.Sprint(tab.quantiles); got != "[ttft_user_p50 e2e_p99.9]" {
		t.Errorf("quantiles %s", got)
	}
	if len(tab.Warnings) != 1 || !strings.Contains(tab.Warnings[0], `column "vendor_score" is not known`) {
		t.Errorf("warnings %q", tab.Warnings)
	}
}

// shed50 is a service of capacity 50/s, as another tool would tell of it.
func shed50() string {
	var b strings.Builder
	b.WriteString("load_per_s,n,errors,sheds,dwell_s,ttft_p50_ms,ttft_p99_ms\n")
	for load := 20; load <= 100; load += 10 {
		n := 2000
		sheds := max(0, n-n*50/load)
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%d,%d\n", load, n, sheds+(n-sheds)/100, sheds, n/load, load, 3*load)
	}
	return b.String()
}

func TestAnalyzeTable(t *testing.T) {
	slo := []Objective{{Metric: "error_rate", MaxShare: 0.05}, {Metric: "ttft_user", Quantile: 0.99, Max: 1}}
	a, err := AnalyzeTable(table(t, shed50()), Options{Objectives: slo})
	if err != nil {
		t.Fatal(err)
	}
	c := a.LambdaC
	if c.Verdict != Found || c.Low == nil || c.High == nil || *c.Low > 50 || *c.High < 50 {
		t.Errorf("lambda_c: %+v", c)
	}
	if o := a.Objectives[0]; o.Verdict != Found || *o.Low != 50 || *o.High != 60 {
		t.Errorf("error_rate: %+v", o)
	}
	if o := a.Objectives[1]; o.Verdict != Insufficient {
		t.Errorf("ttft_user: %+v", o)
	}
	if l := a.Levels[0]; *l.TTFTUserUs.P50 != 20_000 || *l.TTFTUserUs.P99 != 60_000 || l.TTFTUserUs.P99Low != nil || l.Seconds != 100 {
		t.Errorf("level: %+v", l)
	}
}

// A file says little or nothing: a verdict with its reason, never a failure.
func TestAnalyzeTableSays(t *testing.T) {
	lines := func(header string, line func(i int) string) string {
		var text strings.Builder
		text.WriteString(header + "\n")
		for i := 1; i <= 8; i++ {
			text.WriteString(line(i) + "\n")
		}
		return text.String()
	}
	plain := "load_per_s,n,errors"
	tests := []struct {
		name, text string
		verdict    Verdict
		want       string // in missing or reason
	}{
		{"one level", plain + "\n10,1000,3\n", Insufficient, "1 load can be judged, 5 are needed"},
		{"all errors", lines(plain, func(i int) string { return fmt.Sprintf("%d0,100,100", i) }), Insufficient, "100.0 % fail already at 10/s"},
		{"no errors", lines(plain, func(i int) string { return fmt.Sprintf("%d0,1000,0", i) }), Insufficient, "no failure in 8000 requests"},
		{"equal loads", lines(plain, func(int) string { return "10,1000,3" }), Insufficient, "1 load can be judged, 5 are needed"},
		{"concurrency", lines("concurrency,n,errors", func(i int) string { return fmt.Sprintf("%d,1000,%d", i, max(2, (i-4)*90)) }), Found, ""},
		{"the client's limit", lines(plain+",in_flight_at_end,client_in_flight_max", func(i int) string { return fmt.Sprintf("%d0,1000,%d,100,100", i, i) }), Insufficient, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, err := AnalyzeTable(table(t, test.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := a.LambdaC
			if c.Verdict != test.verdict || !strings.Contains(c.Missing+c.Reason, test.want) {
				t.Errorf("%s, missing %q, reason %q; want %s, %q", c.Verdict, c.Missing, c.Reason, test.verdict, test.want)
			}
			if _, err := json.Marshal(a); err != nil {
				t.Error(err)
			}
		})
	}
}

// Classes of one run are counted together, runs of one load are replicates.
func TestTableRuns(t *testing.T) {
	a, err := AnalyzeTable(table(t, "load_per_s,class,n,errors\n10,chat,100,1\n10,embed,50,0\n10,chat,100,3\n10,embed,50,0\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l := a.Levels[0]; len(a.Levels) != 1 || l.Runs != 2 || l.N != 300 || l.Errors != 4 {
		t.Errorf("%+v", a.Levels)
	}
}

// Fast refusals do not make a service look good: the level is marked, and the
// goodput is that of the answers (cases: BerriAI/litellm#35494).
func TestTableFastFailures(t *testing.T) {
	tab := table(t, "load_per_s,n,errors,dwell_s,p50_ms\n100,14572,9337,145.72,3\n")
	a, err := AnalyzeTable(tab, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := a.Levels[0]
	if !near(*l.ErrorRate.Point, 0.641, 0.001) || *l.GoodputPerS > 0.36*100 || !strings.Contains(fmt.Sprint(l.Flags), "under_half_answered") {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(strings.Join(a.Warnings, ";"), "64.1 % failed: if its latencies are of all requests") {
		t.Errorf("warnings %q", a.Warnings)
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add([]byte(shed50()))
	f.Add([]byte("\ufeffconcurrency,n,errors,class,run,p50_ms,p99_ms,in_flight_at_end,dwell_s\n1,10,0,a,1,NA,5,3,1\n2,10,10,b,,1,1,,\n"))
	f.Add([]byte("load_per_s,n,errors,order,start_s,achieved_per_s,client_in_flight_max,output_tokens_per_s\n1e300,1e15,1,1e300,1e300,1,1,1e300\n"))
	f.Add([]byte("load_per_s,n,errors\n\"1,2,3\n"))
	f.Add([]byte("load_per_s,n,errors,_p50_ms,p_ms,x_pnan_ms\n5e-324,1,1,1,1,1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		tab, err := ReadTable(strings.NewReader(string(data)), "results.csv")
		if err != nil {
			if !errors.Is(err, ErrTable) {
				t.Fatalf("%v is no ErrTable", err)
			}
			return
		}
		var scheduled int64
		for _, r := range tab.runs(nil) {
			scheduled += r.tally.Total()
		}
		for i := range tab.rows {
			scheduled -= tab.rows[i].n
		}
		if scheduled != 0 {
			t.Errorf("%d requests too many in the runs", scheduled)
		}
	})
}
