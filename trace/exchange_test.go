package trace

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// planted stands for any captured value.
const planted = "sk-planted-0123456789"

func rawExchange() *Exchange {
	return &Exchange{
		Record:    &Record{Request: Request{PathTemplate: planted}},
		Target:    "/v1/chat?key=" + planted,
		ReqHeader: []Field{{Name: "Authorization", Value: "Bearer " + planted}},
		ReqBody:   []byte(planted),
		Said:      Said{RequestModel: planted},
		Answer:    []AnswerText{{Text: []byte(planted)}},
	}
}

func TestExchangePrintsNothing(t *testing.T) {
	x := rawExchange()
	holder := struct {
		X *Exchange
		V Exchange
	}{x, *x}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for name, value := range map[string]any{"pointer": x, "value": *x, "held": holder, "list": []Exchange{*x}} {
			got := fmt.Sprintf(verb, value)
			if strings.Contains(got, planted) || strings.Contains(got, fmt.Sprintf("%x", planted)) {
				t.Errorf("%s of %s holds the planted value", verb, name)
			}
		}
		if got := fmt.Sprintf(verb, x); got != unsanitized {
			t.Errorf("%s = %q, want %q", verb, got, unsanitized)
		}
	}
}

func TestExchangeEncodesNothing(t *testing.T) {
	x := rawExchange()
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("exchange", "x", x, "v", *x, "list", []Exchange{*x})
	}
	text, err := json.Marshal(map[string]any{"x": x, "v": []Exchange{*x}})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	if err := gob.NewEncoder(&out).Encode(x); !errors.Is(err, ErrRaw) {
		t.Errorf("gob.Encode error = %v, want ErrRaw", err)
	}
	if _, err := x.MarshalBinary(); !errors.Is(err, ErrRaw) {
		t.Errorf("MarshalBinary error = %v, want ErrRaw", err)
	}
	if bytes.Contains(out.Bytes(), []byte(planted)) {
		t.Errorf("an encoder wrote the planted value: %s", out.Bytes())
	}
}
