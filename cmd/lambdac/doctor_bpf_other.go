//go:build !linux || !(amd64 || arm64)

package main

// addPrograms and addTLS: there are no programs for this machine.
func (r *doctorResult) addPrograms() {}

func (r *doctorResult) addTLS() {}
