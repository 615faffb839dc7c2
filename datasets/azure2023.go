package datasets

import (
	"fmt"
	"time"

	"github.com/lambdac/lambdac/trace"
)

// azure2023 reads the Azure LLM inference traces of November 2023
// (github.com/Azure/AzurePublicDataset, AzureLLMInferenceDataset2023.md):
// CSV with CRLF ends, times such as "2023-11-16 18:17:03.9799600" in UTC with
// 7 fraction digits and no zone, then prompt and generated tokens.
func azure2023() format {
	return format{
		name:       "azure2023",
		license:    "CC BY 4.0; P. Patel et al., Splitwise, ISCA 2024",
		timeBase:   trace.TimeUnix,
		resolution: 100 * time.Nanosecond,
		assumed:    assumedChat,
		scan:       azureDialect(azureTime, "2023-11-16 18:17:03.9799600"),
	}
}

// assumedChat is said of every source that holds arrivals and lengths only.
const assumedChat = "the source does not name the API: streamed openai.chat is assumed; outcomes are unknown"

const azureTime = "2006-01-02 15:04:05.9999999"

// azureDialect reads Azure's CSV with one of its ways to write a time.
func azureDialect(layout, example string) func(*scan) error {
	columns := csvColumns{must: []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, may: []string{"NumImages"}}
	return func(s *scan) error {
		return s.csv(columns, func(f []string) (*trace.Record, string) {
			at, ok := dateNs(layout, f[0])
			if !ok {
				return nil, fmt.Sprintf("TIMESTAMP %q: want a time such as %s", clip(f[0]), example)
			}
			r, msg := countedRow(s, at, "ContextTokens", f[1], "GeneratedTokens", f[2])
			if r == nil || f[3] == "" {
				return r, msg
			}
			images, err := parseCount(f[3])
			if err != nil {
				return nil, fmt.Sprintf("NumImages %q: want a whole number, 0 or more", clip(f[3]))
			}
			r.ImageCount = new(int32(images))
			return r, ""
		})
	}
}

// countedRow is a record from an arrival and two columns of token counts.
func countedRow(s *scan, startNs int64, inName, in, outName, out string) (*trace.Record, string) {
	input, err := parseCount(in)
	if err != nil {
		return nil, inName + " " + err.Error()
	}
	output, err := parseCount(out)
	if err != nil {
		return nil, outName + " " + err.Error()
	}
	return s.lengths(startNs, input, output), ""
}
