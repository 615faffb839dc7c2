package trace

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTargetHash(t *testing.T) {
	h, err := HashTarget("LLM.Prod.Example.", 8000)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(string(text)), "prod") {
		t.Errorf("the hash names the host: %s", text)
	}
	for _, row := range []struct {
		host string
		port int
		want bool
	}{
		{"llm.prod.example", 8000, true},
		{"llm.prod.example", 8001, false},
		{"llm.staging.example", 8000, false},
	} {
		got, err := h.Is(row.host, row.port)
		if err != nil || got != row.want {
			t.Errorf("Is(%q, %d) = %v, %v, want %v", row.host, row.port, got, err, row.want)
		}
	}
	if _, err := (TargetHash{Salt: "zz"}).Is("a", 1); err == nil {
		t.Error("Is() of a salt that is no hex: no error")
	}
}
