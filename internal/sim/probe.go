package sim

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// solve answers a question, which is the last line of a prompt:
//
//	What is A op B?                      A and B integers of up to 9 digits, op one of + - *
//	What is the code of NAME?            "The code of NAME is DIGITS." stands before it
//	Write the word W backwards.          W of ASCII letters
//	Reply with exactly this JSON: {…}    one JSON object, on that line
//
// "Answer with …" may follow, but for the last. ok is false for any other prompt.
// The answer is worked out as any server would have to: nothing in the prompt
// gives it away.
func solve(prompt string) (answer string, ok bool) {
	prompt = strings.TrimSpace(prompt)
	before, line := prompt, prompt
	if i := strings.LastIndexByte(prompt, '\n'); i >= 0 {
		before, line = prompt[:i], prompt[i+1:]
	}
	if object, is := strings.CutPrefix(line, "Reply with exactly this JSON: "); is {
		return object, strings.HasPrefix(object, "{") && json.Valid([]byte(object))
	}
	if i := strings.Index(line, " Answer with "); i >= 0 {
		line = line[:i]
	}
	if name, is := between(line, "What is the code of ", "?"); is {
		return findCode(before, name)
	}
	if sum, is := between(line, "What is ", "?"); is {
		return calculate(sum)
	}
	if word, is := between(line, "Write the word ", " backwards."); is {
		return backwards(word)
	}
	return "", false
}

// between returns what stands between the start and the end of a text.
func between(s, start, end string) (string, bool) {
	s, is := strings.CutPrefix(s, start)
	if !is {
		return "", false
	}
	return strings.CutSuffix(s, end)
}

// operandDigits keep a product within int64.
const operandDigits = 9

func calculate(sum string) (string, bool) {
	parts := strings.Split(sum, " ")
	if len(parts) != 3 || len(parts[0]) > operandDigits+1 || len(parts[2]) > operandDigits+1 {
		return "", false
	}
	a, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return "", false
	}
	b, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return "", false
	}
	switch parts[1] {
	case "+":
		return strconv.FormatInt(a+b, 10), true
	case "-":
		return strconv.FormatInt(a-b, 10), true
	case "*":
		return strconv.FormatInt(a*b, 10), true
	}
	return "", false
}

func findCode(text, name string) (string, bool) {
	if name == "" {
		return "", false
	}
	_, rest, _ := strings.Cut(text, "The code of "+name+" is ")
	code, _, ends := strings.Cut(rest, ".")
	return code, ends && code != "" && strings.Trim(code, "0123456789") == ""
}

func backwards(word string) (string, bool) {
	out := make([]byte, len(word))
	for i := range len(word) {
		c := word[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return "", false
		}
		out[len(word)-1-i] = c
	}
	return string(out), word != ""
}

// mistake returns a wrong answer, as long and in as many tokens: one of its
// letters or digits is another.
func mistake(answer string, pick uint64) string {
	out := []byte(answer)
	var places []int
	for i, c := range out {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			places = append(places, i)
		}
	}
	if len(places) == 0 { // such as {}
		return strings.Repeat("?", len(answer))
	}
	at := places[pick>>32%uint64(len(places))]
	if c := out[at]; c <= '9' {
		out[at] = '0' + (c-'0'+1+byte(pick%8))%10
	} else {
		base := c&0x20 | 'A'
		out[at] = base + (c-base+1+byte(pick%24))%26
	}
	return string(out)
}

// spoken cuts a text into tokens as [prompt.text] counts them, each with the
// white space before it and ready to stand in a JSON string.
func spoken(text string) []string {
	var out []string
	for text != "" {
		n, word := 0, 0
		for n < len(text) && (word == 0 || text[n] > ' ') {
			_, size := utf8.DecodeRuneInString(text[n:])
			if word+size > tokenBytes {
				break
			}
			if text[n] > ' ' {
				word += size
			}
			n += size
		}
		quoted, err := json.Marshal(text[:n])
		if err != nil { // a string has no error
			return out
		}
		out = append(out, string(quoted[1:len(quoted)-1]))
		text = text[n:]
	}
	return out
}
