package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/lambdac/lambdac/internal/twin"
)

// wireRequest are the members of the families that the simulator heeds;
// all others are accepted and ignored.
type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	System              json.RawMessage `json:"system"` // Anthropic
	Prompt              json.RawMessage `json:"prompt"`
	Input               json.RawMessage `json:"input"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Tools               []wireTool      `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	EncodingFormat      string          `json:"encoding_format"`
	Dimensions          *int            `json:"dimensions"`
	User                string          `json:"user"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// badRequest is an error of the client with its HTTP status.
type badRequest struct {
	status int
	reason string
}

func (e *badRequest) Error() string { return e.reason }

func (s *Server) readRequest(w http.ResponseWriter, r *http.Request) (*wireRequest, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &badRequest{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body exceeds %d bytes", tooLarge.Limit)}
	case err != nil:
		return nil, &badRequest{http.StatusBadRequest, "the body could not be read"}
	}
	q := &wireRequest{}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, &badRequest{http.StatusBadRequest, "the body is no valid request: " + describe(err)}
	}
	if q.N != nil && *q.N != 1 {
		return nil, &badRequest{http.StatusBadRequest, "n: several choices are not simulated; send one request each"}
	}
	if q.Model == "" {
		q.Model = s.cfg.Model
	}
	return q, nil
}

// describe names the place of a JSON error, never a value.
func describe(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("JSON syntax error at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Sprintf("%s: wrong type at byte %d", kind.Field, kind.Offset)
	}
	return "JSON ends too early"
}

// outputTokens decides the length of an answer: as asked for, else that of the
// solution of a question, else drawn.
func (s *Server) outputTokens(q *wireRequest, id uint64, solution string, isQuestion bool) (n int, reason string, err error) {
	asked := q.MaxTokens
	if q.MaxCompletionTokens != nil {
		asked = q.MaxCompletionTokens
	}
	if asked != nil && *asked < 1 {
		return 0, "", &badRequest{http.StatusBadRequest, "max_tokens: want at least 1"}
	}
	if isQuestion {
		n = min(len(spoken(solution)), s.cfg.MaxOutputTokens)
		if asked == nil || *asked >= n {
			return n, "stop", nil
		}
	}
	if asked == nil {
		return s.drawOutput(id), "stop", nil
	}
	return min(*asked, s.cfg.MaxOutputTokens), "length", nil
}

// job makes the scheduler's job of a prompt.
func (s *Server) job(id uint64, p *prompt, output int) twin.Job {
	j := twin.Job{ID: id, InputTokens: p.tokens, OutputTokens: output}
	if s.cfg.Params.PrefixCaching {
		j.Blocks = p.keys
	}
	return j
}
