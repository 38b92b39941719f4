package results

import (
	"fmt"
	"strconv"
	"strings"
)

// A Flap says how a run's routes were withdrawn and announced on the whole; what
// the operations took is in the phases withdraw and announce.
type Flap struct {
	Rate       int64   `json:"rate"`        // operations a second asked for, open loop; 0: as fast as they go
	Reached    float64 `json:"reached"`     // operations a second
	Operations int64   `json:"operations"`  // withdrawals and announcements sent
	Late       int64   `json:"late"`        // of these, begun when the next was due already
	Elapsed    int64   `json:"elapsed_ns"`  // from the first operation to the end of the last
	Duration   int64   `json:"duration_ns"` // asked for; 0: until stopped
	Stopped    bool    `json:"stopped"`     // ended before the duration
}

// A Churn says what went on beside a run's lookups, and how fast; what its calls took
// is in the phases. Its operations are routes or subnets that come, go or change.
type Churn struct {
	Under string `json:"under"` // "flap", "replace", "resize", "add-delete", "delete-iface"
	Flap
}

// flapping is how fast the table of a run was changed, nil where it was not.
func (r *Run) flapping() *Flap {
	if r.Churn != nil {
		return &r.Churn.Flap
	}
	return r.Flap
}

// flapGrid shows the rates of each cell, as medians over the runs.
func flapGrid(b block) grid {
	g := grid{columns: []column{
		{title: "cell", left: true},
		{title: "rate asked\nops/s"},
		{title: "rate reached\nops/s"},
		{title: "operations", drop: 2},
		{title: "late", drop: 1},
		{title: "time\ns", drop: 3},
	}}
	for _, c := range b.cells {
		var reached, seconds []float64
		var operations, late []int64
		var last *Flap
		for i := range c.runs {
			if f := c.runs[i].flapping(); f != nil {
				reached, seconds = append(reached, f.Reached), append(seconds, float64(f.Elapsed)/1e9)
				operations, late, last = append(operations, f.Operations), append(late, f.Late), f
			}
		}
		if last == nil {
			continue
		}
		g.rows = append(g.rows, []string{
			plain(c.name), last.asked(), fixed(Summarize(reached).Median, 0), fixed(Summarize(operations).Median, 0),
			fixed(Summarize(late).Median, 0), fixed(Summarize(seconds).Median, 2),
		})
	}
	return g
}

func (f *Flap) asked() string {
	if f.Rate == 0 {
		return "max"
	}
	return strconv.FormatInt(f.Rate, 10)
}

// flapSentences tells of runs that were stopped, which are no samples, what they
// had come to.
func flapSentences(b block) []string {
	var out []string
	for i := range b.runs {
		r := &b.runs[i]
		f := r.Flap
		if f == nil || !f.Stopped || !r.Held() || r.Instrumented() {
			continue
		}
		text := fmt.Sprintf("Run %d of cell %s was stopped after %s; its table was complete again. It reached %s operations a second of %s asked for.",
			r.Run, plain(r.Cell), duration(float64(f.Elapsed)), fixed(f.Reached, 0), f.asked())
		var parts []string
		for _, p := range r.Phases {
			if d := p.Each; d != nil {
				parts = append(parts, fmt.Sprintf("%s took %s in the median, %s at the 99th percentile, %s at most",
					plain(p.Name), duration(float64(d.P50)), duration(float64(d.P99)), duration(float64(d.Max))))
			}
		}
		if parts != nil {
			text += " A single " + strings.Join(parts, "; a single ") + "."
		}
		if l := r.Listeners; l != nil {
			text += fmt.Sprintf(" Its listeners got %s and lost %d.", count(l.Messages, "message", "messages"), l.Drops)
		}
		out = append(out, text)
	}
	return out
}
