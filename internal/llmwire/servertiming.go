package llmwire

import "strings"

// commonTimes reads what services of any family, and the proxies before them,
// say of times in the header: Server-Timing (W3C), and OpenAI's processing
// time. That of a stream ends with its head, which is none of our columns.
func commonTimes(field func(name string) string, whole bool) serverTimes {
	var t serverTimes
	if whole {
		t.total = headerMs(field("openai-processing-ms"))
	}
	eachTiming(field("server-timing"), func(name, dur string) {
		switch strings.ToLower(name) {
		case "total":
			t.total = headerMs(dur)
		case "queue":
			t.queue = headerMs(dur)
		case "ttft":
			t.ttft = headerMs(dur)
		}
	})
	return t
}

// eachTiming visits the metrics of a Server-Timing field that have a duration:
// name;dur=MS;desc="…", and others behind commas.
func eachTiming(value string, visit func(name, dur string)) {
	for value != "" {
		var metric string
		metric, value = cutOutside(value, ',')
		name, rest := cutOutside(metric, ';')
		for rest != "" {
			var param string
			param, rest = cutOutside(rest, ';')
			key, dur, _ := strings.Cut(param, "=")
			if strings.EqualFold(strings.TrimSpace(key), "dur") {
				visit(strings.TrimSpace(name), strings.Trim(dur, "\" \t"))
				break // the first counts
			}
		}
	}
}

// cutOutside cuts at the first separator that is not inside of quotes.
func cutOutside(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
