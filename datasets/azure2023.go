package datasets

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
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
		scan:       scanAzure2023,
	}
}

// assumedChat is said of every source that holds arrivals and lengths only.
const assumedChat = "the source does not name the API: streamed openai.chat is assumed; outcomes are unknown"

const azureTime = "2006-01-02 15:04:05.9999999"

var azureColumns = []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}

func scanAzure2023(r io.Reader, _ time.Duration, row func(int64, *trace.Record) error, bad func(int64, string) error) error {
	return scanLines(r, func(line int64, text string) error {
		fields := strings.Split(text, ",")
		if line == 1 {
			return checkHeader(fields, text)
		}
		rec, msg := azureRow(fields)
		if rec == nil {
			return bad(line, msg)
		}
		return row(line, rec)
	}, bad)
}

func checkHeader(fields []string, text string) error {
	if slices.Equal(fields, azureColumns) {
		return nil
	}
	var missing []string
	for _, want := range azureColumns {
		if !slices.Contains(fields, want) {
			missing = append(missing, want)
		}
	}
	return fmt.Errorf("%w: line 1 lacks the columns %s (it reads %q)", ErrFormat, strings.Join(missing, ", "), clip(text))
}

func azureRow(fields []string) (*trace.Record, string) {
	if len(fields) != len(azureColumns) {
		return nil, fmt.Sprintf("%d fields, want %d", len(fields), len(azureColumns))
	}
	at, err := time.Parse(azureTime, fields[0])
	if err != nil {
		return nil, fmt.Sprintf("TIMESTAMP %q: want a time such as 2023-11-16 18:17:03.9799600", clip(fields[0]))
	}
	input, err := parseCount(fields[1])
	if err != nil {
		return nil, "ContextTokens " + err.Error()
	}
	output, err := parseCount(fields[2])
	if err != nil {
		return nil, "GeneratedTokens " + err.Error()
	}
	return lengths(at.UnixNano(), input, output), ""
}

// lengths is a record of which only arrival and token counts are known.
func lengths(startNs, input, output int64) *trace.Record {
	return &trace.Record{
		Arrival: trace.Arrival{StartUnixNs: startNs},
		Usage:   trace.Usage{InputTokens: &input, OutputTokens: &output, RawInputTokens: &input, RawOutputTokens: &output},
		Result:  trace.Result{Outcome: trace.OutcomeUnknown},
	}
}

// parseCount reads a token count: a whole number in [0, 2³¹).
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q: want a whole number of tokens, 0 or more", clip(s))
	}
	return n, nil
}
