// Package experiment is the experiment file as data: what to replay against
// what, at which loads, under which faults, watched by what, and judged by
// which limits. It knows the form of the file; what the words in it mean (a
// scaling, a fault, an objective) is checked by those that use them, with
// [File.At] for the place.
package experiment
