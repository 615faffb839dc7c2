package sim

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"

	"github.com/lambdac/lambdac/internal/twin"
)

const (
	defaultDimensions = 8
	maxDimensions     = 4096
)

// wireEmbedding is one vector of an answer.
type wireEmbedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or base64 of them
}

type wireEmbeddings struct {
	Object string          `json:"object"`
	Data   []wireEmbedding `json:"data"`
	Model  string          `json:"model"`
	Usage  struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	} `json:"usage"`
}

// embeddings serves POST /v1/embeddings. All inputs of a request are one job
// of the scheduler, as long as all of them together.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	q, err := s.readRequest(w, r)
	if err != nil {
		refuse(w, err, openAIError)
		return
	}
	inputs, err := readInputs(q.Input)
	if err != nil {
		refuse(w, err, openAIError)
		return
	}
	dimensions := defaultDimensions
	if q.Dimensions != nil {
		dimensions = *q.Dimensions
	}
	if dimensions < 1 || dimensions > maxDimensions {
		refuse(w, &badRequest{http.StatusBadRequest, "dimensions: want 1 to 4096"}, openAIError)
		return
	}
	body, tokens := embed(inputs, dimensions, q.EncodingFormat == "base64")
	body.Model = q.Model
	t := s.driver.submit(twin.Job{ID: s.driver.number(), InputTokens: tokens})
	if t == nil {
		s.fail(w, twin.Event{Status: http.StatusServiceUnavailable}, openAIError)
		return
	}
	defer s.driver.abandon(t)
	if !s.await(r.Context(), t, func() bool { return false }) {
		return
	}
	if t.end.Kind != twin.Done {
		s.fail(w, t.end, openAIError)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// embed makes a unit vector of each input, equal for equal inputs.
func embed(inputs []input, dimensions int, inBase64 bool) (body wireEmbeddings, tokens int) {
	body.Object = "list"
	for i, in := range inputs {
		p := &prompt{}
		p.input(in)
		tokens += p.tokens
		e := wireEmbedding{Object: "embedding", Index: i}
		if v := vector(p.chain, dimensions); inBase64 {
			e.Embedding = encodeVector(v)
		} else {
			e.Embedding = v
		}
		body.Data = append(body.Data, e)
	}
	body.Usage.Prompt, body.Usage.Total = tokens, tokens
	return body, tokens
}

func vector(chain uint64, n int) []float32 {
	v, sum := make([]float32, n), 0.0
	for i := range v {
		chain = chain*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
		v[i] = float32(int32(chain>>32)) / (1 << 31)
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// encodeVector is base64 of little-endian float32, what the official client
// libraries ask for.
func encodeVector(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
