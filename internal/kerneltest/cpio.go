package main

import (
	"fmt"
	"io"
	"strings"
)

// archive writes the format from which a kernel fills its first file system:
// cpio's "newc" (Documentation/driver-api/early-userspace/buffer-format.rst of
// Linux). The first error stays.
type archive struct {
	w     io.Writer
	inode int
	at    int
	err   error
}

// The kinds of files, as bits of their mode (inode(7)).
const (
	modeDir  = 0o040000
	modeFile = 0o100000
)

// add writes one file or folder.
func (a *archive) add(name string, mode uint32, data []byte) {
	a.inode++
	name = strings.TrimPrefix(name, "/")
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	a.write([]byte(header + name + "\x00"))
	a.write(data)
}

// close ends the archive.
func (a *archive) close() error {
	a.add("TRAILER!!!", 0, nil)
	return a.err
}

// write pads to a multiple of four.
func (a *archive) write(b []byte) {
	for _, part := range [][]byte{b, make([]byte, (4-(a.at+len(b))%4)%4)} {
		if a.err == nil {
			_, a.err = a.w.Write(part)
		}
		a.at += len(part)
	}
}
