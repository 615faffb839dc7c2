package trace

// Features are numbers taken from the texts of one exchange while they were
// in memory: one row of the features table.
type Features struct {
	// RequestID is that of the exchange.
	RequestID string `parquet:"request_id"`
	// Level is that of a replay, in which ids come again from level to level; nil
	// in a recording.
	Level *int32 `parquet:"level"`
	// InCluster numbers the semantic cluster of what was asked, by first
	// appearance in the trace (average linkage, cosine distance 0.30).
	InCluster *int32 `parquet:"in_cluster"`
	// OutCluster numbers that of the answer, likewise.
	OutCluster *int32 `parquet:"out_cluster"`
	// ClusterMethod is "embeddings:<model>", "lexical" or [ClusterExact].
	ClusterMethod *string `parquet:"cluster_method,dict"`
	// OutTokenBins are 256 counts; bin = HMAC(key, token id) mod 256.
	OutTokenBins []int32 `parquet:"out_token_bins,list,optional" parquet-element:",delta"`
	// OutTokensSeen is the number of tokens counted into the bins.
	OutTokensSeen *int32 `parquet:"out_tokens_seen"`
	// OutMaxRepeat is the longest run of one repeated n-gram (n ≤ 4), in
	// repeats.
	OutMaxRepeat *int32 `parquet:"out_max_repeat"`
	// OutDistinct3 is distinct 3-grams ÷ 3-grams, in (0, 1].
	OutDistinct3 *float64 `parquet:"out_distinct3"`
	// Refusal: the service declined, by API field or template.
	Refusal *bool `parquet:"refusal"`
	// FormatValid: the answer parses as the JSON that was asked for; nil where
	// none was asked for.
	FormatValid *bool `parquet:"format_valid"`
	// Reason says why this row has NULLs.
	Reason *FeatureReason `parquet:"reason,dict"`
	// ProbeID names the question, where it is one whose answer is known.
	ProbeID *string `parquet:"probe_id"`
	// ProbeScore is how right its answer is, in [0, 1].
	ProbeScore *float64 `parquet:"probe_score"`
}

// ClusterExact says that answers to one probe are in one cluster where they are equal up
// to white space and what is put around an answer; OutCluster counts from 0 for
// each probe.
const ClusterExact = "exact"

// ProbeSteady is the ProbeID of the one prompt that is asked again and again, whose
// answer is not known: how alike its answers stay is the steady state.
const ProbeSteady = "steady-state"

// FeatureReason says why features are missing.
type FeatureReason string

const (
	FeatureSampled     FeatureReason = "sampled"
	FeatureTooLong     FeatureReason = "too_long"
	FeatureOpaque      FeatureReason = "opaque"
	FeatureBodyDropped FeatureReason = "body_dropped"
	FeatureNoEmbedding FeatureReason = "no_embeddings"
	// FeatureFailed and FeatureTruncated: a probe without a whole answer, which
	// says nothing of its quality.
	FeatureFailed    FeatureReason = "failed"
	FeatureTruncated FeatureReason = "truncated"
)
