// Package gitleaks compares the detectors and the audit with gitleaks, in
// tests only.
package gitleaks
