package replayer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// question has a known answer.
type question struct {
	// id is the kind and the number in its set, such as "retrieval-17".
	id     string
	prompt string
	want   string
	kind   *probeKind
}

// score is 1 for the right answer, else 0.
func (p *question) score(answer string) float64 {
	if p.kind.right(bare(answer), p.want) {
		return 1
	}
	return 0
}

// probeKind makes questions of one kind and knows the right answer when it sees
// it.
type probeKind struct {
	name  string
	ask   func(rng *rand.Rand) (prompt, want string)
	right func(answer, want string) bool
}

// probeKinds are asked in turn. What each asks for is said so plainly that a
// small model may know it, and hard enough that a disturbed one fails.
var probeKinds = []probeKind{
	{"arithmetic", askSum, equalNumber},
	{"retrieval", askCode, equalNumber},
	{"json", askJSON, equalJSON},
	{"backwards", askBackwards, strings.EqualFold},
}

// probeSet is the number of different questions of a run: each is asked again
// at every load, so that loads are compared question by question.
const probeSet = 200

// probeTokens is the most that an answer may take.
const probeTokens = 64

// newProbes draws a run's questions, in the order in which each level asks
// them.
func newProbes(seed uint64) []question {
	rng := rand.New(rand.NewPCG(mix(seed, saltProbe), 1))
	list := make([]question, probeSet)
	for i := range list {
		k := &probeKinds[i%len(probeKinds)]
		prompt, want := k.ask(rng)
		list[i] = question{id: fmt.Sprintf("%s-%d", k.name, i/len(probeKinds)), prompt: prompt, want: want, kind: k}
	}
	return list
}

func askSum(rng *rand.Rand) (prompt, want string) {
	a, b := 10+rng.IntN(990), 10+rng.IntN(90)
	op, sum := "+", a+b
	if rng.IntN(2) == 0 {
		op, sum = "-", a-b
	}
	return fmt.Sprintf("What is %d %s %d? Answer with the number only.", a, op, b), strconv.Itoa(sum)
}

// askCode hides one fact among many: a long context.
func askCode(rng *rand.Rand) (prompt, want string) {
	lines := 8 << rng.IntN(5) // 8 to 128
	names := rng.Perm(1000)[:lines]
	var b strings.Builder
	b.WriteString("Remember these codes.\n")
	codes := make([]string, lines)
	for i, name := range names {
		codes[i] = strconv.Itoa(10000 + rng.IntN(90000))
		fmt.Fprintf(&b, "The code of unit-%03d is %s.\n", name, codes[i])
	}
	asked := rng.IntN(lines)
	fmt.Fprintf(&b, "What is the code of unit-%03d? Answer with the number only.", names[asked])
	return b.String(), codes[asked]
}

// probeWords are short and common, so that no model splits them oddly.
var probeWords = []string{
	"river", "stone", "cloud", "table", "green", "light", "horse", "paper", "sugar", "train",
	"water", "bread", "chair", "glass", "house", "smile", "snow", "tiger", "uncle", "voice",
}

func askJSON(rng *rand.Rand) (prompt, want string) {
	object := fmt.Sprintf(`{"name":%q,"count":%d,"tags":[%q,%q]}`, pick(rng), rng.IntN(1000), pick(rng), pick(rng))
	return "Reply with exactly this JSON: " + object, object
}

func askBackwards(rng *rand.Rand) (prompt, want string) {
	word := pick(rng) + pick(rng)
	back := []byte(word)
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return fmt.Sprintf("Write the word %s backwards. Answer with the word only.", word), string(back)
}

func pick(rng *rand.Rand) string { return probeWords[rng.IntN(len(probeWords))] }

// bare is an answer without what models put around one: white space, a fence,
// quotes, a full stop.
func bare(answer string) string {
	s := strings.TrimSpace(answer)
	if rest, fenced := strings.CutPrefix(s, "```"); fenced {
		rest, _, _ = strings.Cut(rest, "```")
		if first, body, more := strings.Cut(rest, "\n"); more && !strings.ContainsAny(first, `{["`) {
			rest = body // the fence's language
		}
		s = strings.TrimSpace(rest)
	}
	s = strings.TrimSuffix(s, ".")
	return strings.Trim(s, "\"'`* ")
}

// numbers finds the numbers of an answer.
var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-?\d+`) })

// equalNumber: one number is in the answer, and it is the right one.
func equalNumber(answer, want string) bool {
	found := numbers().FindAllString(strings.ReplaceAll(answer, ",", ""), 2)
	return len(found) == 1 && found[0] == want
}

func equalJSON(answer, want string) bool {
	var a, w any
	return json.Unmarshal([]byte(answer), &a) == nil && json.Unmarshal([]byte(want), &w) == nil && reflect.DeepEqual(a, w)
}
