package sim

import (
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lambdac/lambdac/internal/testenv"
)

// clientSays is what both languages' clients make of the server's answers.
const clientSays = `chat ' the server says' length 3 3
chat stream ' the server says' length 3 3
call look_up {'text': ' the server says'} None tool_calls
call stream look_up {'text': ' the server says'} tool_calls
answered length 4
completion stream ' the server'
embeddings [8, 8] 3
refused 400 BadRequestError
message ' the server says' max_tokens 5 3
message stream ' the server says' True max_tokens 3 3
call look_up {'text': ' the server says'} tool_use
call stream look_up {'text': ' the server says'} tool_use
answered max_tokens
refused 400 invalid_request_error
`

// TestOfficialClients: the libraries of OpenAI and Anthropic accept what the
// server says, streamed and not, and understand its refusals.
func TestOfficialClients(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command func(t *testing.T, base string) *exec.Cmd
	}{
		{"python", func(t *testing.T, base string) *exec.Cmd {
			return exec.Command(testenv.Python(t, "openai", "anthropic"), "testdata/clients.py", base)
		}},
		{"node", func(t *testing.T, base string) *exec.Cmd {
			node, modules := testenv.Node(t, "openai", "@anthropic-ai/sdk")
			return exec.Command(node, "testdata/clients.mjs", base, modules)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, err := New(quick())
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			http := httptest.NewServer(server)
			defer http.Close()
			out, err := tt.command(t, http.URL).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(clientSays, string(out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
