//go:build amd64 || arm64

package bpf

import "testing"

func TestLoad(t *testing.T) {
	k, err := Load(Options{Ports: []int{8000}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	k.Close()
}
