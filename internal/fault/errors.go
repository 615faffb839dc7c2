package fault

import (
	"fmt"
	"strings"
)

// Error is a fault that cannot be used as it was given. It is one line that
// ends with what to try; whoever knows where the fault stands in a file finds
// the place by Field.
type Error struct {
	// Name of the fault, as far as it is known.
	Name string
	// Field is the path of the value in the fault, such as "window.from"; "" =
	// the fault itself.
	Field string
	// Index is the place in a list of faults; nil = not known.
	Index *int
	// Message and Hint: what is wrong, and what to try.
	Message, Hint string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("fault")
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Message)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}
