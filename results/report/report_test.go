package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"fibchurn/results"
)

// To write testdata anew: go test ./results/report -run TestGolden -update
var update = flag.Bool("update", false, "write the golden files in testdata anew")

func twoSides() fixture {
	return fixture{labels: []string{"base", "new"}, nights: 1, boots: 8, sizes: []int64{1000, 10000, 100000},
		level: func(label string, _ int) float64 { return map[string]float64{"base": 1, "new": 1.3}[label] }}
}

func pages(t testing.TB) map[string][]results.Run {
	one := fixture{labels: []string{""}, nights: 1, boots: 1, sizes: []int64{1000, 10000}, lookup: true}
	nightly := fixture{labels: []string{""}, nights: 16, boots: 2, sizes: []int64{1000},
		level: func(_ string, night int) float64 { return map[bool]float64{true: 1.4, false: 1}[night >= 9] }}
	return map[string][]results.Run{"one": one.make(t), "two": twoSides().make(t), "nightly": nightly.make(t)}
}

func write(t testing.TB, runs []results.Run, opts Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, runs, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, runs := range pages(t) {
		got := write(t, runs, Options{Version: "test"})
		file := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v (write it with -update)", err)
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
			t.Errorf("%s (-want +got):\n%.4000s", name, d)
		}
	}
}

// What the page must say of the fixtures, whatever it looks like.
func TestContents(t *testing.T) {
	all := pages(t)
	for name, words := range map[string][]string{
		"one":     {"Latency by percentile", "Latency histograms", "lookup by bpf, p50 before", "too few runs", "Shape of the trie", "Synthetic CPU"},
		"two":     {`id="verdict"`, "slower", "Grows as base n^1.", "What differs", "10000, base", "The same on all sides."},
		"nightly": {`id="trends"`, "of 2 series changed", "2026-03-10", "is of the latest night"},
	} {
		got := write(t, all[name], Options{})
		for _, word := range words {
			if !strings.Contains(got, word) && !(word == "What differs" && !strings.Contains(got, "<details>")) {
				t.Errorf("%s does not say %q", name, word)
			}
		}
	}
	if got := write(t, all["one"], Options{}); strings.Contains(got, `id="verdict"`) || strings.Contains(got, `id="trends"`) {
		t.Error("one kernel of one night has a verdict or trends")
	}
}

// Whatever stands in a file of runs, the page has no script, no handler and nothing to
// fetch, and the texts are there as texts.
func TestHostileTexts(t *testing.T) {
	const evil = `</title></style>"'><script>alert(1)</script><img src=x onerror=alert(1)>javascript:alert(1) {{.}} \u202e https://example.com`
	runs := twoSides().make(t)
	for i := range runs {
		r := &runs[i]
		label := r.Environment.Label
		r.Command, r.Cell = evil, evil+r.Cell
		r.Spec = []byte(fmt.Sprintf(`{"count":5,"layout":%q}`, evil))
		r.Environment = results.Environment{Label: label + evil, Kernel: evil, KernelVersion: evil, Arch: evil, CommandLine: evil, CPU: evil,
			Virtualisation: evil, ClockSource: evil, Governor: evil, Debug: []string{evil}, LinkKind: evil, Fibchurn: evil}
		r.Phases[0].Name = evil
		r.Trie.Before.IPv4.Tables[0].Name = evil
		r.Warnings = []results.Warning{{Kind: evil, Text: evil}}
		r.Latency = []results.Latency{{Probe: evil, Stretch: evil, Count: 5, P50: 1, HDR: evil}}
	}
	got := write(t, runs, Options{Title: evil, Version: evil})
	checkInert(t, got)
	if !strings.Contains(got, "&lt;script&gt;alert(1)&lt;/script&gt;") {
		t.Error("the texts are not on the page")
	}
	charts, err := Charts(runs, Options{})
	if err != nil || len(charts) == 0 {
		t.Fatal(len(charts), err)
	}
	for _, c := range charts {
		if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || c.Name == "" {
			t.Errorf("a file named %q", c.Name)
		}
		var b bytes.Buffer
		if err := c.Chart.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		checkXML(t, b.Bytes())
	}
}

// checkInert parses the page.
func checkInert(t *testing.T, page string) {
	t.Helper()
	allowed := map[string]bool{}
	for _, name := range strings.Fields("html head meta link title style body main header h1 h2 h3 p nav ol ul li a section dl div dt dd span figure figcaption b details summary table thead tbody tr th td footer svg g path text rect") {
		allowed[name] = true
	}
	tokens := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := tokens.Token()
		if !allowed[token.Data] {
			t.Errorf("an element %s", token)
		}
		for _, a := range token.Attr {
			fetches := a.Key == "src" || a.Key == "srcset" || a.Key == "xlink:href" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "data:,"
			if fetches || strings.HasPrefix(a.Key, "on") || a.Key == "style" && strings.Contains(a.Val, "url") {
				t.Errorf("an attribute of %s", token)
			}
		}
	}
}

func checkXML(t *testing.T, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Runs without anything to draw, or without any sample, make a page all the same.
func TestOddRuns(t *testing.T) {
	base := twoSides().make(t)
	for name, change := range map[string]func(*results.Run){
		"partial":   func(r *results.Run) { r.Partial = true },
		"failed":    func(r *results.Run) { r.Verified = false },
		"no phases": func(r *results.Run) { r.Phases = nil },
		"no time":   func(r *results.Run) { r.Phases[0].Wall, r.Phases[1].Wall = 0, 0 },
		"no tries":  func(r *results.Run) { r.Trie = results.TrieChange{} },
		"no spec":   func(r *results.Run) { r.Spec = nil },
		"torn times": func(r *results.Run) {
			r.Latency = []results.Latency{{Probe: "bpf", Stretch: "rest", Count: 1, HDR: "!"}}
		},
		"no time set":   func(r *results.Run) { r.Time = time.Time{} },
		"huge":          func(r *results.Run) { r.Phases[0].Wall = 1 << 62 },
		"negative trie": func(r *results.Run) { r.Trie.Before.IPv4.Tables[0].TnodesByBits = map[int]int64{-5: -7, 900: 1 << 62} },
	} {
		runs := make([]results.Run, len(base))
		for i := range base {
			runs[i] = base[i]
			runs[i].Phases = append([]results.Phase{}, base[i].Phases...)
			tables := append([]results.Trie{}, base[i].Trie.Before.IPv4.Tables...)
			runs[i].Trie.Before.IPv4 = &results.TrieStats{Tables: tables}
			change(&runs[i])
		}
		checkInert(t, write(t, runs, Options{}))
		if t.Failed() {
			t.Fatal(name)
		}
	}
	checkInert(t, write(t, nil, Options{}))
}

func TestSides(t *testing.T) {
	runs := twoSides().make(t)
	for i, j := 0, len(runs)-1; i < j; i, j = i+1, j-1 {
		runs[i], runs[j] = runs[j], runs[i] // new first
	}
	s, err := sidesOf(runs, "")
	if err != nil || len(s.groups) != 2 || s.groups[0].Name != "base" || s.ink("new") != 1 {
		t.Errorf("%v, %v", s.groups, err)
	}
	for i := range runs { // two builds of one release
		runs[i].Environment.KernelVersion, runs[i].Environment.Label = "#"+runs[i].Environment.Label, ""
	}
	if s, err = sidesOf(runs, ""); err != nil || len(s.groups) != 2 || s.groups[0].Name != "#new" {
		t.Errorf("builds: %v, %v", s.groups, err)
	}
	if got := write(t, runs, Options{Groups: []results.Group{{Name: "one", Runs: runs[:24]}, {Name: "two", Runs: runs[24:]}}}); !strings.Contains(got, "new: two") {
		t.Error("groups are not the sides")
	}
	var unknown *results.KeyError
	if err := Write(io.Discard, runs, Options{By: "colour"}); !errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
	if got := write(t, runs, Options{By: "cell"}); !strings.Contains(got, `id="verdict"`) {
		t.Error("cells are not compared")
	}
}

func TestFlameGraphs(t *testing.T) {
	runs := twoSides().make(t)
	runs[0].Profile = &results.Profile{Event: "cpu-clock"}
	drawn := 0
	got := write(t, runs, Options{FlameGraph: func(w io.Writer, runs []results.Run) error {
		drawn += len(runs)
		_, err := io.WriteString(w, `<?xml version="1.0"?><svg id="flame"></svg>`)
		return err
	}})
	if drawn != 1 || !strings.Contains(got, `<svg id="flame">`) || strings.Contains(got, "<?xml") {
		t.Errorf("%d runs drawn", drawn)
	}
}

// What cannot be drawn is said.
func TestUnreadable(t *testing.T) {
	runs := twoSides().make(t)
	for i := range runs {
		runs[i].Latency = []results.Latency{{Probe: "bpf", Stretch: "rest", Count: 1, P50: 5, HDR: "!"}}
	}
	if got := write(t, runs, Options{}); !strings.Contains(got, "Not drawn: 1000, bpf, rest: histogram of bpf, rest:") {
		t.Error("nothing is said of histograms that cannot be read")
	}
}

// A month of nights, thousands of runs, is a page that a browser likes.
func TestManyNights(t *testing.T) {
	f := fixture{labels: []string{"base", "new"}, nights: 24, boots: 40, sizes: []int64{1000, 10000, 100000}}
	runs := f.make(t)
	begun := time.Now()
	got := write(t, runs, Options{})
	t.Logf("%d runs: %d bytes in %v", len(runs), len(got), time.Since(begun))
	if len(got) > 5<<20 {
		t.Errorf("%d bytes", len(got))
	}
}
