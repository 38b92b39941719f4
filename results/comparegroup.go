package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A KeyError is a key that runs cannot be grouped by.
type KeyError struct{ Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("no such key %q: kernel, label, cell or one of %s", e.Key, strings.Join(environmentKeys(), ", "))
}

// environmentPrefix begins a key that names a field of the environment.
const environmentPrefix = "environment."

// GroupBy groups runs by the value of a key: "kernel", "label", "cell" or
// "environment.KEY" with KEY as in the record. The groups are in the order of
// their first runs. The error is a *KeyError.
func GroupBy(runs []Run, key string) ([]Group, error) {
	value, err := keyValue(key)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, part := range groupBy(runs, value) {
		name := value(&part[0])
		if name == "" {
			name = "no " + strings.TrimPrefix(key, environmentPrefix)
		}
		groups = append(groups, Group{name, part})
	}
	return groups, nil
}

func keyValue(key string) (func(*Run) string, error) {
	switch key {
	case "kernel":
		return func(r *Run) string { return r.Environment.Kernel }, nil
	case "label":
		return func(r *Run) string { return r.Environment.Label }, nil
	case "cell":
		return func(r *Run) string { return r.Cell }, nil
	}
	if !slices.Contains(environmentKeys(), key) {
		return nil, &KeyError{key}
	}
	name := strings.TrimPrefix(key, environmentPrefix)
	return func(r *Run) string { return environmentValue(&r.Environment, name) }, nil
}

// environmentValue is a field as the record has it, strings without quotes.
func environmentValue(e *Environment, name string) string {
	raw := environmentFields(e)[name]
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// environmentKeys returns every key of GroupBy that names a field of the
// environment, in alphabetical order.
func environmentKeys() []string {
	e := &Environment{Label: "x", LinkKind: "x", LinkAuto: true} // those left out when empty
	var keys []string
	for name := range environmentFields(e) {
		keys = append(keys, environmentPrefix+name)
	}
	slices.Sort(keys)
	return keys
}

func environmentFields(e *Environment) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	text, err := json.Marshal(e)
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return nil // an Environment always encodes
	}
	return fields
}
