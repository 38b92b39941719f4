// Package report writes runs as one page of HTML that needs nothing else: no network,
// no other file, no script.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"fibchurn/results"
	"fibchurn/results/chart"
	"fibchurn/results/trend"
)

// Options say how Write renders. The zero value is the default.
type Options struct {
	Title string // "" is "Route-table report"
	// By is the key of results.GroupBy that makes the sides; "" is the label, or else the
	// kernel's release, or else its version, where there are several.
	By string
	// Groups are the sides themselves, base first, whose runs are all runs; nil: By makes
	// them.
	Groups  []results.Group
	Compare results.CompareOptions // of the verdict; By is not used
	Version string                 // of this program, for the foot of the page
	// FlameGraph draws the profiles of runs as SVG without scripts; nil: none is drawn.
	FlameGraph func(io.Writer, []results.Run) error
}

//go:embed page.html
var pageTemplate string

//go:embed style.css
var style string

// Write renders runs. It is a pure function of them and opts. The error is w's, of
// charts that cannot be drawn, or a *results.KeyError of By.
func Write(w io.Writer, runs []results.Run, opts Options) error {
	p, err := newPage(runs, opts)
	if err != nil {
		return err
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"svg": func(c *chart.Chart) (template.HTML, error) { s, err := c.Inline(); return template.HTML(s), err },
		// ink is the class of a colour; of the n-th new side it is that after base's.
		"ink": func(n int, offset ...int) string {
			if len(offset) == 0 {
				n++
			}
			return fmt.Sprintf("s%d", n%chart.Inks)
		},
		"class":  cellClass,
		"result": resultClass,
	}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("render the page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// A page is what the template shows.
type page struct {
	Title        string
	Summary      string // what the page is of
	Style        template.CSS
	Notes        []string // what was left out of the page as a whole
	Verdict      *verdict
	Environments environmentTable
	Trends       *trends
	Works        []work
	Version      string
}

func newPage(runs []results.Run, opts Options) (p *page, err error) {
	p = &page{Title: opts.Title, Style: template.CSS(style), Version: opts.Version}
	if p.Title == "" {
		p.Title = "Route-table report"
	}
	runs, twice := results.Distinct(runs)
	if twice > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d lines of the files repeat a run and are not counted.", twice))
	}
	latest, cut := trend.Latest(runs)
	s := sides{opts.Groups}
	if s.groups != nil {
		latest, cut = runs, false
	} else if s, err = sidesOf(latest, opts.By); err != nil {
		return nil, err
	}
	if cut {
		p.Notes = append(p.Notes, fmt.Sprintf("Where there are at least %d nights of the same work, everything but the trends is of the latest night.", trend.MinNights))
	}
	p.Summary = summary(runs)
	p.Verdict = newVerdict(latest, s, opts.Compare)
	p.Environments = environments(latest)
	p.Trends = newTrends(trend.Of(runs))
	p.Works = works(latest, s)
	if opts.FlameGraph == nil {
		return p, nil
	}
	for i := range p.Works {
		if err := p.Works[i].addFlames(opts.FlameGraph); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// summary is e.g. "248 runs of delete-iface and routes, 16 boots, 2 to 9 March 2026".
func summary(runs []results.Run) string {
	if len(runs) == 0 {
		return "no runs"
	}
	var commands []string
	seen, boots := map[string]bool{}, map[string]bool{}
	first, last := runs[0].Time.UTC(), runs[0].Time.UTC()
	for i := range runs {
		r := &runs[i]
		if !seen[r.Command] {
			seen[r.Command] = true
			commands = append(commands, results.Plain(r.Command))
		}
		boots[r.Boot] = true
		if t := r.Time.UTC(); t.Before(first) {
			first = t
		} else if t.After(last) {
			last = t
		}
	}
	const day = "2 January 2006"
	span := last.Format(day)
	switch {
	case first.Format(day) == span:
	case first.Format("January 2006") == last.Format("January 2006"):
		span = first.Format("2") + " to " + span
	case first.Year() == last.Year():
		span = first.Format("2 January") + " to " + span
	default:
		span = first.Format(day) + " to " + span
	}
	return fmt.Sprintf("%s of %s, %s, %s", counted(len(runs), "run", "runs"), list(commands), counted(len(boots), "boot", "boots"), span)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// resultClass is the class of a row of a comparison, "" where it shows nothing.
func resultClass(t results.Table, row int) string {
	if row >= len(t.Results) {
		return ""
	}
	switch t.Results[row] {
	case results.Slower:
		return "slower"
	case results.Faster:
		return "faster"
	}
	return ""
}

// cellClass is the class of a table's cells in a column.
func cellClass(t results.Table, column int) string {
	switch {
	case column >= len(t.Columns):
		return ""
	case t.Results != nil && (t.Columns[column].Title == "delta" || t.Columns[column].Title == ""):
		return strings.TrimSpace("result " + wordsClass(t.Columns[column]))
	}
	return wordsClass(t.Columns[column])
}

func wordsClass(c results.TableColumn) string {
	if c.Words {
		return "words"
	}
	return ""
}
