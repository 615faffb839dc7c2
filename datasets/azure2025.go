package datasets

import (
	"time"

	"github.com/lambdac/lambdac/trace"
)

// azure2025 reads the multimodal week published in 2025
// (AzureLMMInferenceDataset2025.md): times such as "2024-10-15T12:00:00.269Z"
// and a column with the number of images.
func azure2025() format {
	return format{
		name:       "azure2025",
		license:    "CC BY 4.0; H. Qiu et al., ModServe, SoCC 2025",
		timeBase:   trace.TimeUnix,
		resolution: time.Millisecond,
		assumed:    assumedChat,
		scan:       azureDialect(time.RFC3339, "2024-10-15T12:00:00.269Z"),
	}
}
