// Package sanitizer turns raw exchanges into safe records, in memory, before
// anything is written. It fails closed: what it does not know is dropped with
// its size kept, and an exchange that it cannot handle is not written at all
// but counted.
//
// The shape mode leaves no text. Of a request stay its numbers, the header
// values of an allow-list, a path with its identifiers cut, and its content as
// keyed block ids; of an answer its times, sizes and counts, and a few numbers
// taken from the text while it was in memory ([trace.Features]).
//
// Everything that links exchanges (request, session, tenant, host, connection)
// is a keyed pseudonym: equal values give equal pseudonyms inside a trace, and
// others in the next, since the key is random per trace, is never written and
// is wiped by [Sanitizer.Close]. No pseudonym has a clock in it.
//
// Names and words that are kept (of headers, parameters, members, models,
// finish reasons) are made of words that the policy knows, and pass a test for
// secrets and identities besides: a secret can look like a word, and then only
// a vocabulary tells it from a name.
//
// The modes filler and redact keep bodies too, each value by its place and the
// policy ([BodyPolicy]). docs/sanitizer.md has the whole.
package sanitizer
