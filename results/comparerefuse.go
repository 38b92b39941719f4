package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An IncomparableError says that figures of two sides mean different things.
type IncomparableError struct {
	What      string // what differs, e.g. "virtualisation"
	Base, New string // its value on each side
	Where     string // workload and cell, "" for all
	Forcible  bool   // CompareOptions.Force compares all the same
	Failed    bool   // runs of new failed their checks: it is for want of them that nothing is left to compare, or may be
}

// reason is what differs, and the values of both sides.
func (e *IncomparableError) reason() string {
	return fmt.Sprintf("%s: base has %s, new has %s", e.What, e.Base, e.New)
}

func (e *IncomparableError) Error() string {
	text := "not comparable: " + e.reason()
	if e.Where != "" {
		text += " (" + e.Where + ")"
	}
	return text
}

// A property is something of a run that the two sides should share.
type property struct {
	key   string // its key of GroupBy, "" none
	name  string
	value func(*Run) string // "" unknown
}

// requiredProperties returns what makes figures meaningless where it differs.
func requiredProperties() []property {
	return []property{
		{"", "schema", func(r *Run) string { return strconv.Itoa(r.Schema) }},
		{"environment.virtualisation", "virtualisation", func(r *Run) string { return r.Environment.Virtualisation }},
		{"environment.arch", "architecture", func(r *Run) string { return r.Environment.Arch }},
		{"environment.cpus", "CPUs", func(r *Run) string { return positiveText(r.Environment.CPUs) }},
		{"environment.link_kind", "link kind", func(r *Run) string { return r.Environment.LinkKind }},
		{"environment.debug", "debug kernel", debugKernel},
	}
}

// debugKernel goes by the run's own warning: which options are heavy is known
// where they are found.
func debugKernel(r *Run) string {
	switch {
	case slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Kind == "debug-kernel" }):
		return "yes"
	case r.Environment.Debug == nil:
		return ""
	}
	return "no"
}

func positiveText(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// refuse checks the required properties of a strand. One that the groups were
// made by is a question that was asked, and one that is unknown to a side is a
// doubt (comparisonDoubts).
func (p *pairing) refuse(s *strand) error {
	for _, q := range requiredProperties() {
		base, new := q.values(s.base), q.values(s.new)
		if len(union(base, new)) < 2 {
			continue
		}
		err := &IncomparableError{What: q.name, Base: listText(base), New: listText(new), Where: cellKey{s.command, s.cell}.String(), Forcible: true}
		if q.key != "" && q.key == p.opts.By {
			continue
		}
		if err := p.refused(err); err != nil {
			return err
		}
	}
	return nil
}

// refused returns err, or takes it as a warning where the comparison is forced.
func (p *pairing) refused(err *IncomparableError) error {
	if !p.opts.Force {
		return err
	}
	p.warnings = append(p.warnings, Warning{"forced", err.Error()})
	p.forced = append(p.forced, err.reason())
	return nil
}

// values returns the known values among the runs, in order of appearance.
func (q property) values(runs []Run) []string {
	var values []string
	for i := range runs {
		if v := q.value(&runs[i]); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func listText(values []string) string {
	if len(values) == 0 {
		return "none known"
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = plain(v)
	}
	return strings.Join(texts, " and ")
}

// specErrors name the parameters in which two runs differ.
func specErrors(k cellKey, base, new *Run) []*IncomparableError {
	values := func(r *Run) map[string]string {
		v := map[string]string{}
		for _, f := range comparableFields(r) {
			v[f.name] = string(f.value)
		}
		return v
	}
	b, n := values(base), values(new)
	refusal := func(what, base, new string) *IncomparableError {
		return &IncomparableError{What: what, Base: base, New: new, Where: k.String(), Forcible: true}
	}
	var all []*IncomparableError
	known := map[string]bool{}
	for _, f := range slices.Concat(comparableFields(base), comparableFields(new)) {
		if b[f.name] != n[f.name] && !known[f.name] {
			known[f.name] = true
			all = append(all, refusal("parameter "+plain(f.name), orNone(b[f.name]), orNone(n[f.name])))
		}
	}
	if all == nil {
		all = append(all, refusal("parameters", "one set", "another"))
	}
	return all
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return plain(value)
}

// sampleText says why a side has too few samples.
func sampleText(s Side) string {
	if s.Runs+s.Watched == 0 {
		return "no runs"
	}
	text := count(s.Samples, "sample", "samples")
	if s.Partial+s.Failed > 0 {
		text += fmt.Sprintf(" (%d interrupted, %d failed their checks)", s.Partial, s.Failed)
	}
	if s.Watched > 0 {
		text += fmt.Sprintf(" (and %s that were profiled or traced, which tell no times)", count(s.Watched, "run", "runs"))
	}
	return strings.ReplaceAll(text, nbsp, " ")
}
