package tracedir

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/lambdac/lambdac/trace"
)

// clone copies a record, since a Writer takes ownership.
func clone(r *trace.Record) *trace.Record {
	c := *r
	if r.Features != nil {
		c.Features = new(*r.Features)
	}
	return &c
}

// makeRecords fills every field with seeded values, each optional field nil
// in some rows, each list nil, empty and full.
func makeRecords(rng *rand.Rand, n int) []*trace.Record {
	records := make([]*trace.Record, n)
	for i := range records {
		r := new(trace.Record)
		fillStruct(rng, reflect.ValueOf(r).Elem())
		r.RequestID = fmt.Sprintf("r%06d", i)
		r.StartUnixNs = 1_700_000_000_000_000_000 + int64(i)*1_234_567
		r.StartTS = r.StartUnixNs / 1000
		if r.Features != nil {
			r.Features.RequestID = r.RequestID
		}
		for j := range r.Bodies {
			r.Bodies[j].RequestID = r.RequestID
			r.Bodies[j].Body = append([]byte{}, r.Bodies[j].Body...) // a required column
		}
		records[i] = r
	}
	return records
}

func fillStruct(rng *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		fillValue(rng, v.Field(i))
	}
}

func fillValue(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(rng, v.Elem())
		}
	case reflect.Struct:
		fillStruct(rng, v)
	case reflect.Slice:
		if n := rng.IntN(5) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fillValue(rng, v.Index(i))
			}
		}
	case reflect.Map:
		if n := rng.IntN(4) - 1; n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range n {
				value := reflect.New(v.Type().Elem()).Elem()
				fillValue(rng, value)
				v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key%d", i)), value)
			}
		}
	case reflect.String:
		v.SetString([]string{"", "a", "bé", "word", "another one"}[rng.IntN(5)])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 1)
	case reflect.Float64:
		v.SetFloat(rng.NormFloat64())
	case reflect.Int8:
		v.SetInt(int64(rng.IntN(6)))
	case reflect.Int32:
		v.SetInt(int64(int32(rng.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(rng.Uint64()))
	case reflect.Uint8:
		v.SetUint(uint64(rng.UintN(256)))
	default:
		panic("no filler for " + v.Type().String())
	}
}
