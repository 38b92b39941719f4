package results

import "io"

// The formats that others ask for by name.
const (
	FormatText = "text"
	FormatJSON = "json"
	FormatKTAP = "ktap"
)

// A Format is a rendering of runs that goes by a name.
type Format struct {
	Name  string // as --format takes it
	About string // who reads it, in a few words
	Tests bool   // it tells of tests and how they ended, also where nothing was measured
	// Write renders runs. It is a pure function of them and of opts; the error is w's.
	Write func(w io.Writer, runs []Run, opts FormatOptions) error
}

// FormatOptions say how a Format renders.
type FormatOptions struct {
	Text TextOptions // of text
	// Ended says in one line why the measuring ended before all runs were made, ""
	// where it did not. Unsupported: nothing could be measured on this kernel or
	// machine. Formats that tell of tests say so.
	Ended       string
	Unsupported bool
}

// Formats returns every format, in the order in which they are listed.
func Formats() []Format {
	return []Format{
		{Name: FormatText, About: "tables and conclusions for people", Write: writeTextFormat},
		{Name: FormatJSON, About: "the record, a line a run", Write: writeJSONFormat},
		{Name: "bench", About: "Go's benchmark format, for benchstat", Write: writeBench},
		{Name: FormatKTAP, About: "a test a cell, for kselftest, kunit.py and TAP harnesses", Write: writeKTAPRuns, Tests: true},
		{Name: "prometheus", About: "gauges for the textfile collector", Write: writePrometheus},
		{Name: "lkp", About: "lines of key: value, for lkp-tests", Write: writeLKP},
		{Name: "lava", About: "signals of lava-test-case", Write: writeLAVA, Tests: true},
	}
}

// FormatNamed returns the format of that name.
func FormatNamed(name string) (Format, bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// FormatNames returns the names of all formats.
func FormatNames() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

func writeTextFormat(w io.Writer, runs []Run, opts FormatOptions) error {
	return WriteText(w, runs, opts.Text)
}

func writeJSONFormat(w io.Writer, runs []Run, _ FormatOptions) error {
	lines := NewEncoder(w)
	for i := range runs {
		if err := lines.Encode(&runs[i]); err != nil {
			return err
		}
	}
	return nil
}
