package sim

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// wireError is an error body as vLLM writes it (its ErrorResponse).
type wireError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	} `json:"error"`
}

var errorTypes = map[int]string{
	http.StatusBadRequest:            "BadRequestError",
	http.StatusRequestEntityTooLarge: "BadRequestError",
	http.StatusTooManyRequests:       "TooManyRequestsError",
	http.StatusInternalServerError:   "InternalServerError",
	http.StatusServiceUnavailable:    "ServiceUnavailableError",
}

// errorForm writes an error as one API has it.
type errorForm func(w http.ResponseWriter, status int, message string)

func openAIError(w http.ResponseWriter, status int, message string) {
	var e wireError
	e.Error.Message, e.Error.Type, e.Error.Code = message, errorTypes[status], status
	writeJSON(w, status, e)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone shows in its context
}

// refuse answers a request that the simulator does not take.
func refuse(w http.ResponseWriter, err error, write errorForm) {
	status := http.StatusBadRequest
	var bad *badRequest
	if errors.As(err, &bad) {
		status = bad.status
	}
	write(w, status, err.Error())
}

// fail answers a job that ended in Shed, Failed or, by breaking off, Cut.
func (s *Server) fail(w http.ResponseWriter, end twin.Event, write errorForm) {
	status := int(end.Status)
	switch {
	case end.Kind == twin.Cut:
		panic(http.ErrAbortHandler)
	case end.Cause == twin.OutOfMemory:
		write(w, status, "CUDA out of memory. Tried to allocate 512.00 KiB.")
	case end.Cause == twin.Evicted:
		write(w, status, "the request was evicted from the KV cache too often")
	case status == http.StatusBadRequest:
		write(w, status, "the prompt and max_tokens exceed the context length")
	case status == http.StatusInternalServerError:
		write(w, status, "the engine failed")
	default:
		seconds := (s.cfg.Params.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
		write(w, status, "the server is overloaded, try again later")
	}
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
}
