package twin

// Streams keep the draws of one seed apart.
const (
	streamDemo uint64 = iota + 1
	streamMix
	streamError
	streamArrivals
	streamStart
	streamSalt
	streamWrong
	streamPins
	streamPinned
	streamCut
	streamStall
	streamTenant
	streamJitter
)

// hashOf mixes two words into one with the finalizer of SplitMix64 (Steele,
// Lea & Flood, OOPSLA 2014), applied to each word.
func hashOf(a, b uint64) uint64 {
	return mix64(mix64(a+0x9e3779b97f4a7c15) ^ (b + 0x9e3779b97f4a7c15))
}

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit maps a hash to [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
