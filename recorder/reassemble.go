package recorder

// connStreams is what the reassembler knows of one connection.
type connStreams struct{}
