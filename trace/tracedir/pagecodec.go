package tracedir

import (
	"fmt"
	"sync"

	klauspost "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// pageWindow is how far the compressor looks back, in bytes: a page has half
// of it, but for large bodies. The 8 MiB of the default level take twice that
// in memory, for each compressor at work.
const pageWindow = 512 << 10

// pageCodec is Parquet's zstd with one compressor no larger than pages need.
type pageCodec struct {
	zstd.Codec // its name, and how it is read

	encoder func() (*klauspost.Encoder, error)
}

func newPageCodec() *pageCodec {
	return &pageCodec{encoder: sync.OnceValues(func() (*klauspost.Encoder, error) {
		return klauspost.NewWriter(nil,
			klauspost.WithEncoderLevel(klauspost.SpeedDefault), klauspost.WithWindowSize(pageWindow),
			klauspost.WithEncoderConcurrency(1), klauspost.WithZeroFrames(true), klauspost.WithEncoderCRC(false))
	})}
}

// Encode compresses a page into dst's memory.
func (c *pageCodec) Encode(dst, src []byte) ([]byte, error) {
	encoder, err := c.encoder()
	if err != nil {
		return nil, fmt.Errorf("compress page: %w", err)
	}
	return encoder.EncodeAll(src, dst[:0]), nil
}
