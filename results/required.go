package results

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// given is whether a field is there and not null.
type given bool

// UnmarshalJSON looks at no more than that.
func (g *given) UnmarshalJSON(value []byte) error {
	*g = string(value) != "null"
	return nil
}

// requiredFields are those that a comparison, or what is counted as a sample, is made
// from: a 0 in the place of one that is missing would be a verdict. All of them are as
// old as the section that they are in. A pointer, and a list with omitempty, may be absent.
type requiredFields struct {
	Time        given           `json:"time"`
	Cell        given           `json:"cell"`
	Run         given           `json:"run"`
	Boot        given           `json:"boot"`
	Spec        given           `json:"spec"`
	Environment given           `json:"environment"`
	Phases      []requiredPhase `json:"phases"`
	Verified    given           `json:"verified"`
	Partial     given           `json:"partial"`
	Checks      []struct {
		Want given `json:"want"`
		Got  given `json:"got"`
	} `json:"checks,omitempty"`

	Latency []struct {
		Probe   given `json:"probe"`
		Stretch given `json:"stretch"`
		Rate    given `json:"rate"`
		Count   given `json:"count"`
		P50     given `json:"p50_ns"`
		P99     given `json:"p99_ns"`
		NetP50  given `json:"net_p50_ns"`
	} `json:"latency,omitempty"`
	Churn  *requiredFlap `json:"churn"`
	Flap   *requiredFlap `json:"flap"`
	Resize *struct {
		Pattern     given `json:"pattern"`
		Transitions []struct {
			Op  given `json:"op"`
			P50 given `json:"p50_ns"`
		} `json:"transitions,omitempty"`
	} `json:"resize"`
	Forward *struct {
		Stretches []struct {
			Stretch   given `json:"stretch"`
			Forwarded given `json:"forwarded"`
			Wall      given `json:"wall_ns"`
		} `json:"stretches,omitempty"`
	} `json:"forward"`
	Flood *struct {
		Cookies given `json:"cookies"`
		Wall    given `json:"wall_ns"`
	} `json:"flood"`
	Profile *struct {
		Phases []struct {
			Phase   given `json:"phase"`
			Samples given `json:"samples"`
		} `json:"phases,omitempty"`
	} `json:"profile"`
	Trace *struct {
		Phases []struct {
			Phase     given `json:"phase"`
			Functions []struct {
				Function given `json:"function"`
				Calls    given `json:"calls"`
			} `json:"functions,omitempty"`
		} `json:"phases,omitempty"`
	} `json:"trace"`
}

type requiredPhase struct {
	Name    given `json:"name"`
	Ops     given `json:"ops"`
	Wall    given `json:"wall_ns"`
	User    given `json:"user_ns"`
	System  given `json:"system_ns"`
	Blocked given `json:"blocked_ns"`
	Each    *struct {
		Count given `json:"count"`
		P50   given `json:"p50_ns"`
		P99   given `json:"p99_ns"`
	} `json:"each"`
}

type requiredFlap struct {
	Reached    given `json:"reached"`
	Operations given `json:"operations"`
	Late       given `json:"late"`
}

// missingField names the first required field that a record has not, "" where it has all.
// The record is one that decodes into a Run.
func missingField(raw json.RawMessage) (string, error) {
	var fields requiredFields
	if err := json.Unmarshal(raw, &fields); err != nil {
		return "", err
	}
	return strings.TrimPrefix(notGiven(reflect.ValueOf(fields)), "."), nil
}

func notGiven(v reflect.Value) (path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return notGiven(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if path := notGiven(v.Index(i)); path != "" {
				return fmt.Sprintf("[%d]%s", i, path)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field, f := v.Field(i), v.Type().Field(i)
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			missing := field.Kind() == reflect.Bool && !field.Bool() || field.Kind() == reflect.Slice && field.IsNil() && option == ""
			if missing {
				return "." + name
			}
			if path := notGiven(field); path != "" {
				return "." + name + path
			}
		}
	}
	return ""
}
