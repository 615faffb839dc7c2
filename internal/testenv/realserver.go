package testenv

import (
	_ "embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// RealServerVar names the environment variable with the Python that has the
// packages of realserver.txt beside this file.
const RealServerVar = "LAMBDAC_REAL_SERVER"

//go:embed realserver.py
var realServer string

// RealServer starts llama.cpp's server with a small model, which takes some
// seconds, and returns its base URL. It answers as many requests at once as it
// has slots, which share a context of so many tokens, on one thread.
func RealServer(tb testing.TB, slots, context int) (url string) {
	tb.Helper()
	return realServerWith(tb, "--slots", strconv.Itoa(slots), "--context", strconv.Itoa(context))
}

// Embeddings is [RealServer] with embeddings, the mean over a text's tokens, in
// place of answers.
func Embeddings(tb testing.TB) (url string) {
	tb.Helper()
	return realServerWith(tb, "--embeddings")
}

func realServerWith(tb testing.TB, flags ...string) (url string) {
	tb.Helper()
	python := os.Getenv(RealServerVar)
	if python == "" {
		Missing(tb, "llama.cpp's server with a small model", "make real-server, then set "+RealServerVar)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{
		"-c", realServer, "--port", strconv.Itoa(freePort(tb)), "--model", filepath.Join(cache, "lambdac", "gemma-3-270m-q4_k_m.gguf"),
	}, flags...)...)
	return Serve(tb, cmd)
}

// freePort is a port of loopback that nobody listens at.
func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
