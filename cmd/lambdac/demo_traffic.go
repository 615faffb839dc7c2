package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lambdac/lambdac/internal/llmwire"
	"github.com/lambdac/lambdac/internal/tokens"
	"github.com/lambdac/lambdac/internal/twin"
	"github.com/lambdac/lambdac/trace"
)

// traffic is the demo's production: chat requests of the built-in mix at
// Poisson times, from clients that send a made-up credential.
type traffic struct {
	target string
	perS   float64
	span   time.Duration
	seed   uint64
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

// demoCredential is sent with each request, so that the demo shows the trace
// to be free of it.
const demoCredential = "sk-demo-4f1d2c9b7a6e5d4c3b2a19080706"

// send sends the traffic and returns how many requests were sent and how many
// of them were answered with status 200.
func (t *traffic) send(ctx context.Context, progress func(sent int, left time.Duration)) (sent, answered int, err error) {
	r := rand.New(rand.NewPCG(t.seed, 1))
	jobs := twin.BuiltinMix(t.seed).Jobs
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true, DialContext: t.dial}}
	defer client.CloseIdleConnections()
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	begin, due := time.Now(), time.Duration(0)
	for i := 0; ; i++ {
		due += time.Duration(r.ExpFloat64() / t.perS * float64(time.Second))
		if due > t.span {
			break
		}
		body, err := t.body(r, jobs[i%len(jobs)])
		if err != nil {
			return sent, answered, err
		}
		if !sleepUntil(ctx, begin.Add(due)) {
			break
		}
		progress(sent, t.span-due)
		sent++
		wg.Go(func() {
			if t.post(ctx, client, body) {
				mu.Lock()
				answered++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return sent, answered, ctx.Err()
}

// body is one chat request with a prompt of the job's length.
func (t *traffic) body(r *rand.Rand, job twin.Job) ([]byte, error) {
	words := tokens.Words()
	var prompt strings.Builder
	for range job.InputTokens {
		prompt.WriteString(words[r.IntN(len(words))])
	}
	_, body, err := llmwire.Build(llmwire.Spec{
		Kind: trace.KindOpenAIChat, Model: "demo-model", Stream: true, IncludeUsage: true,
		Messages:  []llmwire.Message{{Role: trace.RoleUser, Text: prompt.String()}},
		MaxTokens: new(int32(job.OutputTokens)),
	})
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	return body, nil
}

func (t *traffic) post(ctx context.Context, client *http.Client, body []byte) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.target+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+demoCredential)
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// sleepUntil waits for a moment; false where ctx ended first.
func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
