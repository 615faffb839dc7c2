package sanitizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/trace"
)

// surrogates are what one trace makes of values that differ in a counter only:
// pseudonyms, and the words of both modes that have words.
func surrogates(t *testing.T, key []byte, n int) map[string][]string {
	t.Helper()
	keys, err := newKeyring(key)
	if err != nil {
		t.Fatal(err)
	}
	f := fillerOf(t, key, tokens.O200K)
	s := start(t, Config{Key: key, Mode: trace.ModeRedact, FeatureShare: 1e-9}, discard{})
	s.setVocabulary(&trace.Record{}, "gpt-4o")
	made := make(map[string][]string)
	for i := range n {
		mail := fmt.Sprintf("user%05d@example.com", i)
		for kind, v := range map[string]string{
			"request": keys.name("request", fmt.Sprint(i)), "tenant": keys.name("tenant", mail),
			"filler": textIn(t, f, mail), "redact": textIn(t, s.bodies.redactor, mail),
			"number": string(f.number(nil, nil, fmt.Appendf(nil, "41111111%08d", i))),
		} {
			made[kind] = append(made[kind], v)
		}
	}
	return made
}

// binOf puts a surrogate of a kind into one of so many equally likely bins.
func binOf(kind, v string) (bin, bins int) {
	switch kind {
	case "request", "tenant": // two letters of base32
		const base32 = "abcdefghijklmnopqrstuvwxyz234567"
		return 32*strings.IndexByte(base32, v[0]) + strings.IndexByte(base32, v[1]), 1024
	case "number": // the first digit is never 0
		return 10*int(v[8]-'0') + int(v[15]-'0'), 100
	}
	word, _, _ := strings.Cut(v, " ")
	return slices.Index(tokens.Short(), word), len(tokens.Short())
}

// Equal values have equal surrogates in a trace, different ones in another, and
// those of values that are nearly equal are spread evenly: chi-square, whose
// mean are its degrees of freedom and whose variance is twice that, within five
// standard deviations. Their order says nothing of that of the values.
func TestSurrogatesAreSpread(t *testing.T) {
	const n = 10_000
	here, again := surrogates(t, testKey, n), surrogates(t, testKey, n)
	there := surrogates(t, []byte("another key of thirty-two bytes!"), n)
	if diff := cmp.Diff(here, again); diff != "" {
		t.Errorf("equal values differ inside a trace: %s", diff)
	}
	for kind, list := range here {
		_, bins := binOf(kind, list[0])
		seen := make([]float64, bins)
		same := 0
		for i, v := range list {
			bin, _ := binOf(kind, v)
			seen[bin]++
			if v == there[kind][i] {
				same++
			}
		}
		if same > 0 {
			t.Errorf("%s: %d of %d are the same in another trace", kind, same, n)
		}
		chi, each := 0.0, n/float64(bins)
		for _, count := range seen {
			chi += (count - each) * (count - each) / each
		}
		freedom := float64(bins - 1)
		if z := (chi - freedom) / math.Sqrt(2*freedom); math.Abs(z) > 5 {
			t.Errorf("%s: chi-square %.0f on %.0f degrees of freedom", kind, chi, freedom)
		}
		if rho := rankCorrelation(list); math.Abs(rho)*math.Sqrt(n-1) > 5 {
			t.Errorf("%s: the order of surrogates follows that of the values: %.3f", kind, rho)
		}
	}
}

// rankCorrelation is Spearman's, of the places in a list with those in its
// sorted order; its standard error is 1/√(n−1) where there is none.
func rankCorrelation(list []string) float64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(list[a], list[b]) })
	sum, n := 0.0, float64(len(list))
	for rank, i := range order {
		d := float64(rank - i)
		sum += d * d
	}
	return 1 - 6*sum/(n*(n*n-1))
}

// No id has a clock in it: the same exchanges a year later have the same ids,
// but for what is a time.
func TestNoClockInIDs(t *testing.T) {
	ids := func(start int64) (list []string) {
		for n := range uint64(20) {
			x := chat(n, start+int64(n)*1e9, messages("one prefix for all of them", fmt.Sprint("tail ", n)))
			x.ReqHeader = append(x.ReqHeader, trace.Field{Name: "Authorization", Value: "Bearer one"},
				trace.Field{Name: "X-Session-Id", Value: fmt.Sprint(n / 4)}, trace.Field{Name: "Traceparent", Value: fmt.Sprint(n)})
			rec := one(t, x)
			list = append(list, rec.RequestID, *rec.SessionID, *rec.TenantID, *rec.ConnID, rec.HostPseudonym,
				fmt.Sprint(rec.ReqHeaders, rec.PrefixBlockIDs))
		}
		return list
	}
	const year = 365 * 24 * 3600 * int64(1e9)
	if diff := cmp.Diff(ids(1_700_000_000_000_000_000), ids(1_700_000_000_000_000_000+year)); diff != "" {
		t.Errorf("ids depend on the time: %s", diff)
	}
}
