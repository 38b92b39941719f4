package results

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// MaxFigure is the largest figure that Read takes of a record, 104 days in ns: beyond it
// readers of JSON that count in floating point, such as jq, know no exact number. A few
// of them together do not overflow.
const MaxFigure = 1 << 53

// maxBits is the largest size of a tnode, in bits, that a record may name.
const maxBits = 64

// wrongFigure says which figure of a record none can be: one below zero whose field has
// not the tag sign:"any", or one beyond MaxFigure. It is "" where there is none.
func wrongFigure(r *Run) string {
	path, what := findWrong(reflect.ValueOf(r).Elem(), false)
	if what == "" {
		return ""
	}
	return "its " + plain(strings.TrimPrefix(path, ".")) + " " + what
}

// findWrong returns the path of the first wrong figure below v, and what is wrong.
func findWrong(v reflect.Value, signed bool) (path, what string) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return "", wrongNumber(v.Int(), signed)
	case reflect.Float64:
		return "", wrongNumber(v.Float(), signed)
	case reflect.Pointer:
		if !v.IsNil() {
			return findWrong(v.Elem(), signed)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Uint8 || k == reflect.String {
			return "", ""
		}
		for i := range v.Len() {
			if path, what := findWrong(v.Index(i), signed); what != "" {
				return fmt.Sprintf("[%d]%s", i, path), what
			}
		}
	case reflect.Map:
		return wrongInMap(v)
	case reflect.Struct:
		return wrongInStruct(v)
	}
	return "", ""
}

func wrongNumber[T int64 | float64](x T, signed bool) string {
	switch {
	case x < 0 && !signed:
		return "is below zero"
	case x > MaxFigure || x < -MaxFigure:
		return fmt.Sprintf("is %.4g, beyond %d (2^53)", float64(x), int64(MaxFigure))
	}
	return ""
}

// wrongInMap: keys that are numbers are sizes of tnodes in bits.
func wrongInMap(v reflect.Value) (path, what string) {
	for entries := v.MapRange(); entries.Next(); {
		key := entries.Key()
		if key.Kind() == reflect.Int && (key.Int() < 0 || key.Int() > maxBits) {
			return "", fmt.Sprintf("has a tnode of %d bits", key.Int())
		}
		if path, what := findWrong(entries.Value(), false); what != "" {
			return fmt.Sprintf(".%v%s", key, path), what
		}
	}
	return "", ""
}

func wrongInStruct(v reflect.Value) (path, what string) {
	for i := range v.NumField() {
		field := v.Field(i)
		switch field.Kind() {
		case reflect.String, reflect.Bool:
			continue
		}
		f := v.Type().Field(i)
		if !f.IsExported() { // of a time.Time
			continue
		}
		path, what := findWrong(field, f.Tag.Get("sign") == "any")
		if what == "" {
			continue
		}
		if f.Anonymous {
			return path, what
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return "." + name + path, what
	}
	return "", ""
}

// plus adds figures, none of which is below zero. What does not fit is the largest
// number instead: sums are over as many runs as there are.
func plus(x int64, more ...int64) int64 {
	for _, y := range more {
		if x > math.MaxInt64-y {
			return math.MaxInt64
		}
		x += y
	}
	return x
}
