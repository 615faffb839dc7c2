//go:build !linux

package main

// keepPrivate does nothing here: no system but Linux can record from an
// interface, and core dumps are the user's own setting.
func keepPrivate() error { return nil }
