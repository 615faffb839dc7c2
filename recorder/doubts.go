package recorder

import (
	"fmt"
	"slices"
)

// doubts says in words what a source could not read, for the user: whatever
// may have been traffic of the services.
func (s *SourceStats) doubts() []string {
	list := slices.Concat(s.Cut, s.Warnings)
	for _, d := range []struct {
		n    int64
		text string
	}{
		{s.KernelDrops, "%d packets were dropped before they could be read: by the kernel, or by the program that captured"},
		{s.DroppedBytes, "%d bytes were in them"},
		{s.Undecoded[fragment.String()], "%d packets were not read: fragments of larger ones"},
		{s.Undecoded[tooShort.String()], "%d packets were not read: the capture kept too little of their headers"},
		{s.Undecoded[badHeader.String()], "%d packets were not read: their headers contradict themselves"},
		{s.Undecoded[tooDeep.String()], "%d packets were not read: they are tunnelled too often"},
		{s.Undecoded[unknownLink.String()], "%d packets were not read: their link type is unknown"},
		{s.Evicted, "%d connections were forgotten while they were open: there were too many at a time"},
		{s.OutOfWindow, "%d packets have sequence numbers that cannot be of their connection"},
	} {
		if d.n > 0 {
			list = append(list, fmt.Sprintf(d.text, d.n))
		}
	}
	return list
}
