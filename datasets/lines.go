package datasets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds a line of a source; Mooncake's longest hold some 250 block
// ids. A longer one is a bad row, not the end of the import.
const maxLine = 1 << 20

// scanLines calls fn for each line that is not empty, without its end (LF or
// CRLF), and bad for each that is too long. Lines count from 1.
func scanLines(r io.Reader, fn func(line int64, text string) error, bad func(line int64, msg string) error) error {
	in := bufio.NewReaderSize(r, maxLine)
	for line := int64(1); ; line++ {
		raw, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = skipLine(in)
			if bad := bad(line, fmt.Sprintf("longer than %d bytes", maxLine)); bad != nil {
				return bad
			}
			raw = nil
		}
		if fnErr := emitLine(line, string(raw), fn); fnErr != nil {
			return fnErr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", line, err)
		}
	}
}

func emitLine(line int64, text string, fn func(int64, string) error) error {
	text = strings.TrimRight(text, "\r\n")
	if line == 1 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return fn(line, text)
}

func skipLine(in *bufio.Reader) error {
	for {
		_, err := in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// clip shortens outside text for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
