package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"

	"fibchurn/results"
)

// A flame is a flame graph.
type flame struct {
	Title string
	SVG   template.HTML
}

// addFlames draws one for every section with profiled runs.
func (w *work) addFlames(draw func(io.Writer, []results.Run) error) error {
	for i := range w.Sections {
		s := &w.Sections[i]
		profiled := slices.DeleteFunc(slices.Clone(s.Runs), func(r results.Run) bool { return r.Profile == nil })
		if len(profiled) == 0 {
			continue
		}
		var b bytes.Buffer
		if err := draw(&b, profiled); err != nil {
			return fmt.Errorf("flame graph of %s: %w", s.Side, err)
		}
		title := "Flame graph"
		if w.several() {
			title += ", " + s.Side
		}
		svg := b.Bytes()
		if at := bytes.Index(svg, []byte("<svg")); at > 0 { // no XML declaration inside HTML
			svg = svg[at:]
		}
		w.Flames = append(w.Flames, flame{title, template.HTML(svg)})
	}
	return nil
}
