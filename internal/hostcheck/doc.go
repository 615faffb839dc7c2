// Package hostcheck tells what this host lets the recorder do: it reads facts
// of the kernel and of this process, and judges them. Each finding names what
// it keeps from working and a remedy. Reading is apart from judging: facts
// come from an injectable root of /proc and /sys, and the judgement is a pure
// function of them.
package hostcheck
