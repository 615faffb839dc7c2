package tracedir

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/lambdac/lambdac/trace"
)

func TestOpenParquetRefuses(t *testing.T) {
	var lz4 bytes.Buffer
	w := parquet.NewGenericWriter[trace.Body](&lz4, parquet.Compression(&parquet.Lz4Raw))
	if _, err := w.Write(make([]trace.Body, 3)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, data, says string
	}{
		{"empty", "", "0 bytes are too few"},
		{"text", "no parquet at all", "no Parquet footer"},
		{"cut", lz4.String()[:lz4.Len()-3], "no Parquet footer"},
		{"footer longer than the file", "PAR1\xff\xff\xff\x7fPAR1", "a footer of 2147483647 bytes in a file of 12"},
		{"footer of zeros", "PAR1\x00\x00\x00\x00\x04\x00\x00\x00PAR1", "damaged part"},
		{"LZ4, whose decoder hangs on damage", lz4.String(), "rewrite the file with zstd"},
	}
	for _, tt := range tests {
		_, err := openParquet(strings.NewReader(tt.data), int64(len(tt.data)))
		if err == nil || !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.says)
		}
	}
}
