package main

import (
	"slices"

	"fibchurn/churn"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/profile"
	"fibchurn/internal/usage"
	"fibchurn/lookup"
	"fibchurn/ns"
	"fibchurn/results"
	"fibchurn/vm"
)

// valueOf tells what the value of a flag is, and with flag "" what the arguments of
// a command are, for help texts and for shells that complete them.
func valueOf(command, flag string) usage.Value {
	switch flag {
	case "":
		return argumentsOf(command)
	case "color":
		return oneOf("auto", "always", "never")
	case "as":
		if command == "netns" {
			return someOf(churn.NetnsLoads()...)
		}
		return someOf(churn.Loads()...)
	case "order":
		if command == "lookup" {
			return oneOf(lookup.KeyOrders()...)
		}
		return oneOf(churn.Orders()...)
	case "layout":
		return oneOf(slices.DeleteFunc(layouts(), func(l string) bool { return l == string(prefixes.File) })...)
	case "link-kind":
		if command == "flood" {
			return oneOf(slices.Concat([]string{ns.KindAuto}, churn.FloodKinds())...)
		}
		return oneOf(append([]string{ns.KindAuto}, ns.Kinds()...)...)
	case "accel":
		return oneOf("auto", vm.AccelKVM, vm.AccelTCG)
	case "format":
		return oneOf(results.FormatNames()...)
	case "profile-scope":
		return oneOf(profile.Thread, profile.CPUs)
	case "metric":
		return someOf(results.MetricNames()...)
	case "by":
		return suggested("kernel", "label", "cell", "environment.")
	case "rate", "churn-rate":
		return suggested("max")
	}
	return wordsOf(flag)
}

// wordsOf are flags that one command alone has.
func wordsOf(flag string) usage.Value {
	switch flag {
	case "path":
		return someOf(results.Paths()...)
	case "setup":
		return oneOf("auto", "down", "up")
	case "ack":
		return oneOf(churn.Acks()...)
	case "parallel-in":
		return oneOf(churn.WriteTargets()...)
	case "pattern":
		return oneOf(churn.ResizePatterns()...)
	case "under":
		return oneOf(churn.Unders()...)
	case "probe":
		return someOf(lookup.Probes()...)
	case "keys":
		return oneOf(lookup.KeyKinds()...)
	case "vary":
		return someOf(varyUnmerge, varyDirect)
	case "direction":
		return oneOf("output", "input")
	case "iif":
		return suggested("fc0", "fc1")
	case "rp-filter":
		return suggested("0", "1", "2")
	}
	return usage.Value{}
}

func argumentsOf(command string) usage.Value {
	switch command {
	case "compare", "report":
		return usage.Value{Kind: usage.File}
	case suiteCommand:
		return usage.Value{Kind: usage.File, Words: builtinNames()}
	case "vm":
		return usage.Value{Kind: usage.Nested}
	case "completion":
		return oneOf(usage.Shells()...)
	}
	return usage.Value{}
}

func layouts() (names []string) {
	for _, l := range prefixes.Layouts() {
		names = append(names, string(l))
	}
	return names
}

func oneOf(words ...string) usage.Value { return usage.Value{Kind: usage.Word, Words: words} }

func someOf(words ...string) usage.Value { return usage.Value{Kind: usage.List, Words: words} }

// suggested are words that may stand beside anything else.
func suggested(words ...string) usage.Value { return usage.Value{Words: words} }
