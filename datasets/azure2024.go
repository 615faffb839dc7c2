package datasets

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// azure2024 reads the week of May 2024 (AzureLLMInferenceDataset2024.md): the
// columns of 2023, times with a zone and up to six fraction digits, which are
// left out on a whole second ("2024-05-12 00:00:00+00:00").
func azure2024() format {
	return format{
		name:       "azure2024",
		license:    "CC BY 4.0; J. Stojkovic et al., DynamoLLM, HPCA 2025",
		timeBase:   trace.TimeUnix,
		resolution: time.Microsecond,
		assumed:    assumedChat,
		scan:       azureDialect("2006-01-02 15:04:05Z07:00", "2024-05-12 00:00:00.001163+00:00"),
	}
}
