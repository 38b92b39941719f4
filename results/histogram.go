package results

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// A Depth says how deep the routes of a table lie in its tree: how many nodes are
// above each.
type Depth struct {
	Table    uint32  `json:"table"` // RT_TABLE_MAIN is 254
	Average  float64 `json:"average"`
	Max      int     `json:"max"`
	Computed bool    `json:"computed"` // from the prefixes, not told by the kernel
}

// DepthOf is the depth of an IPv4 table as fib_triestat tells it; false where it
// does not.
func DepthOf(t Tables, table uint32) (Depth, bool) {
	if t.IPv4 == nil {
		return Depth{}, false
	}
	name := strconv.FormatUint(uint64(table), 10)
	switch table {
	case 254:
		name = "main"
	case 255:
		name = "local"
	}
	i := indexOf(t.IPv4.Tables, name)
	if i < 0 {
		return Depth{}, false
	}
	trie := t.IPv4.Tables[i]
	return Depth{Table: table, Average: trie.AverageDepth, Max: trie.MaxDepth}, true
}

func (d Depth) String() string {
	text := fmt.Sprintf("table=%d avgdepth=%.1f maxdepth=%d", d.Table, d.Average, d.Max)
	if d.Computed {
		text += " (computed)"
	}
	return text
}

// HistogramOptions say how WriteHistogram renders.
type HistogramOptions struct {
	Color bool   // the cumulative share is dimmed by an ANSI sequence
	ASCII bool   // no character beyond ASCII
	Width int    // of the page, in columns; 0 is 80
	Depth *Depth // of the table; nil leaves its line out
}

// The layout of a histogram.
const (
	histogramRows   = 20 // at most, without the tail
	narrowestBar    = 10
	histogramWidth  = 80
	histogramBefore = 12 // columns before a bar
	histogramAfter  = 12 // columns after it
)

// WriteHistogram renders a latency as the kernel's benchmark modules do: extremes,
// count, average, percentiles and MAD in one line, and then a row for each bucket of
// ns, with its own share of all lookups dark and the cumulative share light. The
// last row holds everything above. The error is w's, or says that the record's
// histogram cannot be read.
func WriteHistogram(w io.Writer, l Latency, o HistogramOptions) error {
	h, err := hdrhistogram.Decode([]byte(l.HDR))
	if err != nil {
		return fmt.Errorf("histogram of %s, %s: %w", plain(l.Probe), plain(l.Stretch), err)
	}
	var out bytes.Buffer
	fmt.Fprintln(&out, histogramTitle(l))
	fmt.Fprintf(&out, "min=%d max=%d count=%d average=%.0f 95th=%d 90th=%d 50th=%d mad=%d\n",
		l.Min, l.Max, l.Count, h.Mean(), l.P95, l.P90, l.P50, l.MAD)
	if o.Depth != nil {
		fmt.Fprintln(&out, o.Depth)
	}
	if h.TotalCount() > 0 {
		newHistogramPage(o).write(&out, histogramBuckets(h))
	}
	_, err = w.Write(out.Bytes())
	return err
}

func histogramTitle(l Latency) string {
	pace := "closed loop"
	if l.Rate > 0 {
		pace = fmt.Sprintf("%d/s", l.Rate)
	}
	return fmt.Sprintf("lookups by %s, %s, %s (ns; calibration 50th=%d, net 50th=%d)", plain(l.Probe), plain(l.Stretch), pace, l.CalibrationP50, l.NetP50)
}

// A histogramBucket is a row: the lookups that took from ns on, as far as the next
// row, or as long as there were.
type histogramBucket struct {
	from  int64
	tail  bool
	count int64
}

// histogramBuckets divides the times up to the 98th percentile into equal buckets
// of 1, 2 or 5 times a power of ten, and the rest into one.
func histogramBuckets(h *hdrhistogram.Histogram) []histogramBucket {
	first, last := h.Min(), h.ValueAtPercentile(98)
	step := bucketStep(first, last)
	first -= first % step
	rows := int((last-first)/step) + 1
	buckets := make([]histogramBucket, rows+1)
	for i := range buckets {
		buckets[i].from = first + int64(i)*step
	}
	buckets[rows].tail = true
	for _, bar := range h.Distribution() {
		i := int((max(bar.From, first) - first) / step)
		buckets[min(i, rows)].count += bar.Count
	}
	for len(buckets) > 1 && buckets[len(buckets)-1].count == 0 {
		buckets = buckets[:len(buckets)-1]
	}
	return buckets
}

// bucketStep is the least step of 1, 2 or 5 times a power of ten with which rows
// suffice.
func bucketStep(first, last int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if step := factor * power; last/step-first/step < histogramRows {
				return step
			}
		}
	}
}

// A histogramPage draws bars.
type histogramPage struct {
	width                    int // of a bar
	own, share, edge, middle string
	atLeast                  string
	color                    bool
}

func newHistogramPage(o HistogramOptions) histogramPage {
	width := o.Width
	if width <= 0 {
		width = histogramWidth
	}
	p := histogramPage{
		width: max(narrowestBar, width-histogramBefore-histogramAfter),
		own:   "█", share: "░", edge: "│", middle: "┊", atLeast: "≥",
		color: o.Color,
	}
	if o.ASCII {
		p.own, p.share, p.edge, p.middle, p.atLeast = "#", ".", "|", ":", ">="
	}
	return p
}

func (p histogramPage) write(out *bytes.Buffer, buckets []histogramBucket) {
	half := p.width / 2
	header := strings.Repeat(" ", half) + p.middle + strings.Repeat(" ", p.width-half-1)
	p.row(out, "value", header, "count")
	var total, sum int64
	for _, b := range buckets {
		total = plus(total, b.count)
	}
	for _, b := range buckets {
		sum = plus(sum, b.count)
		label := strconv.FormatInt(b.from, 10)
		if b.tail {
			label = p.atLeast + " " + label
		}
		p.row(out, label, p.bar(share(b.count, total, p.width), share(sum, total, p.width)), strconv.FormatInt(b.count, 10))
	}
}

// share is how much of width a part of total is, rounded.
func share(part, total int64, width int) int {
	return int(float64(part)/float64(total)*float64(width) + 0.5)
}

// bar is a bucket's own share, and what is left of the cumulative one after it.
func (p histogramPage) bar(own, cumulative int) string {
	light := strings.Repeat(p.share, cumulative-own)
	if p.color && light != "" {
		light = "\x1b[2m" + light + "\x1b[0m"
	}
	return strings.Repeat(p.own, own) + light + strings.Repeat(" ", p.width-cumulative)
}

func (p histogramPage) row(out *bytes.Buffer, label, bar, count string) {
	const figures = histogramBefore - 2
	fmt.Fprintf(out, "%s%s %s%s %*s\n", strings.Repeat(" ", max(0, figures-utf8.RuneCountInString(label))), label, p.edge, bar, histogramAfter-2, count)
}
