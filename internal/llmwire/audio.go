package llmwire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

// audioLength sums the lengths of the sounds in a request.
type audioLength struct {
	sounds  int
	unknown bool // some sound's length is unknown
	total   int64
}

// ms is the sum in milliseconds; nil where there is no sound, or where the
// length of one is unknown.
func (a *audioLength) ms() *int32 {
	if a.sounds == 0 || a.unknown || a.total > math.MaxInt32 {
		return nil
	}
	return new(int32(a.total))
}

// add reads one input_audio: {"data": base64, "format": …}. Only WAV tells its
// length without decoding.
func (a *audioLength) add(r *reader) {
	a.sounds++
	known := false
	if r.open('{') {
		for key := range r.names() {
			if string(key) != "data" {
				r.skip()
				continue
			}
			data, _ := r.text()
			ms, ok := wavMs(data)
			known = ok
			a.total += ms
		}
	}
	a.unknown = a.unknown || !known
}

// wavHeader is the size of the header of a plain PCM file: RIFF, size, WAVE,
// fmt chunk (bytes per second at 28), data chunk's name and size.
const wavHeader = 44

// wavMs returns the length of a base64-encoded WAV file by its header and its
// size. Source: Microsoft, Multimedia Programming Interface and Data
// Specifications 1.0 (1991), WAVE.
func wavMs(data []byte) (ms int64, ok bool) {
	const encoded = (wavHeader + 2) / 3 * 4
	var head [encoded / 4 * 3]byte
	if len(data) < encoded {
		return 0, false
	}
	if _, err := base64.StdEncoding.Decode(head[:], data[:encoded]); err != nil {
		return 0, false
	}
	perSecond := int64(binary.LittleEndian.Uint32(head[28:]))
	if string(head[:4]) != "RIFF" || string(head[8:12]) != "WAVE" || perSecond == 0 {
		return 0, false
	}
	size := int64(len(data)) / 4 * 3
	return max(0, size-wavHeader) * 1000 / perSecond, true
}
