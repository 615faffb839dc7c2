package llmwire

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/trace"
)

// wav is a file of n bytes of sound at the given bytes per second.
func wav(n int, perSecond uint32) string {
	b := make([]byte, wavHeader+n)
	copy(b, "RIFF")
	copy(b[8:], "WAVEfmt ")
	binary.LittleEndian.PutUint32(b[28:], perSecond)
	return base64.StdEncoding.EncodeToString(b)
}

func TestAudioMs(t *testing.T) {
	sound := func(data string) string {
		return fmt.Sprintf(`{"type":"input_audio","input_audio":{"format":"wav","data":%q}}`, data)
	}
	for _, tt := range []struct {
		name, parts string
		want        *int32
	}{
		{"none", `"a"`, nil},
		{"one", sound(wav(48_000, 32_000)), new(int32(1500))},
		{"two", sound(wav(48_000, 32_000)) + "," + sound(wav(3200, 32_000)), new(int32(1600))},
		{"one unknown", sound(wav(48_000, 32_000)) + "," + sound("SUQzBAAAAAAA"), nil},
		{"no rate", sound(wav(48_000, 0)), nil},
		{"no base64", sound(`................................................................`), nil},
		{"no object", `{"input_audio":7}`, nil},
	} {
		var rec trace.Record
		body := `{"messages":[{"role":"user","content":[` + tt.parts + `]}]}`
		if err := ParseRequest(trace.KindOpenAIChat, "", []byte(body), &rec, new(trace.Said)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, rec.AudioMs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
