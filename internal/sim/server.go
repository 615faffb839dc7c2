package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/lambdac/lambdac/internal/twin"
)

// Config describes a server. Params are needed; all else has a default.
type Config struct {
	// Params and Seed are the scheduler's.
	Params twin.Params
	Seed   uint64
	// Model is the name that /v1/models lists; "" = "lambdac-sim". Requests
	// may name any model and get that name back.
	Model string
	// MessageOverhead is the number of template tokens of a chat message, ≥ 0.
	MessageOverhead int
	// MaxOutputTokens caps an answer; 0 = 4096.
	MaxOutputTokens int
	// Outputs are the jobs whose lengths answers are drawn from where a
	// request sets none; nil = [twin.BuiltinMix] of the seed.
	Outputs []twin.Job
	// MaxBodyBytes caps a request's body; 0 = 32 MiB.
	MaxBodyBytes int64
}

func (c Config) withDefaults() Config {
	if c.Model == "" {
		c.Model = "lambdac-sim"
	}
	if c.MaxOutputTokens == 0 {
		c.MaxOutputTokens = 4096
	}
	if c.Outputs == nil {
		c.Outputs = twin.BuiltinMix(c.Seed).Jobs
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 32 << 20
	}
	return c
}

// Server is the simulated server, an [http.Handler]. Virtual time begins when
// it is made. Safe for concurrent use. Close ends it.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	driver  *driver
	started time.Time
	closing context.Context // of the server's life, not of a request
	close   context.CancelFunc

	mu       sync.Mutex
	closed   bool
	handlers sync.WaitGroup
}

// New starts a server. Parameters out of range are an error.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if cfg.MessageOverhead < 0 || cfg.MaxOutputTokens < 1 || cfg.MaxBodyBytes < 1 {
		return nil, fmt.Errorf("set up server: message overhead %d, output cap %d or body cap %d is out of range", cfg.MessageOverhead, cfg.MaxOutputTokens, cfg.MaxBodyBytes)
	}
	d, err := newDriver(cfg.Params, cfg.Seed)
	if err != nil {
		return nil, fmt.Errorf("set up server: %w", err)
	}
	s := &Server{cfg: cfg, driver: d, started: time.Now(), mux: http.NewServeMux()}
	s.closing, s.close = context.WithCancel(context.Background())
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	for _, prefix := range []string{"/v1", ""} {
		s.mux.HandleFunc("POST "+prefix+"/chat/completions", s.chat)
		s.mux.HandleFunc("POST "+prefix+"/completions", s.completions)
		s.mux.HandleFunc("POST "+prefix+"/embeddings", s.embeddings)
	}
	s.mux.HandleFunc("POST /v1/messages", s.messages)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("/", notFound)
}

// ServeHTTP answers one request. It panics with [http.ErrAbortHandler] where a
// stream has to be broken off.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		s.fail(w, twin.Event{Status: http.StatusServiceUnavailable}, openAIError)
		return
	}
	defer s.handlers.Done()
	stop := context.AfterFunc(s.closing, func() {
		// A client that neither reads nor writes must not hold up Close.
		rc, soon := http.NewResponseController(w), time.Now().Add(closeGrace)
		_ = rc.SetReadDeadline(soon)
		_ = rc.SetWriteDeadline(soon)
	})
	defer stop()
	s.mux.ServeHTTP(w, r)
}

// closeGrace is what an open answer has left after Close.
const closeGrace = time.Second

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// Close refuses new requests, ends the open ones (503 where nothing has been
// sent, else the stream is broken off) within a second, and waits for their
// handlers and the scheduler. It may be called again.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.driver.close()
	s.close()
	s.handlers.Wait()
	return nil
}

// drawOutput draws the length of an answer that its request leaves open.
func (s *Server) drawOutput(id uint64) int {
	r := rand.New(rand.NewPCG(s.cfg.Seed, id))
	n := s.cfg.Outputs[r.IntN(len(s.cfg.Outputs))].OutputTokens
	return min(max(n, 1), s.cfg.MaxOutputTokens)
}
