package results

import "strconv"

// Listeners are the sockets that were subscribed to a run's route notifications,
// from before its first phase to after its last. Figures are sums over all sockets.
type Listeners struct {
	Sockets       int   `json:"sockets"`
	Slow          bool  `json:"slow"`                 // they read nothing before the end
	Messages      int64 `json:"messages"`             // received
	Drops         int64 `json:"drops"`                // lost, because a receive buffer was full
	ReceiveBuffer int64 `json:"receive_buffer_bytes"` // of each socket (SO_RCVBUF)
}

// listenerGrid shows for each cell what its listeners got and lost, as medians over
// the runs.
func listenerGrid(b block) grid {
	g := grid{columns: []column{
		{title: "cell", left: true},
		{title: "listeners", left: true},
		{title: "receive buffer\nbytes", drop: 2},
		{title: "messages\nreceived"},
		{title: "messages\nlost"},
		{title: "lost\n%", drop: 1},
	}}
	for _, c := range b.cells {
		var got, lost []int64
		var last *Listeners
		for i := range c.runs {
			if l := c.runs[i].Listeners; l != nil {
				got, lost, last = append(got, l.Messages), append(lost, l.Drops), l
			}
		}
		if last == nil {
			continue
		}
		received, dropped := Summarize(got).Median, Summarize(lost).Median
		g.rows = append(g.rows, []string{
			plain(c.name), last.kind(), strconv.FormatInt(last.ReceiveBuffer, 10),
			fixed(received, 0), fixed(dropped, 0), fixed(percentOf(dropped, received+dropped), 1),
		})
	}
	return g
}

func (l *Listeners) kind() string {
	if l.Slow {
		return strconv.Itoa(l.Sockets) + " slow"
	}
	return strconv.Itoa(l.Sockets)
}

// percentOf is a part of a whole in %, 0 of nothing.
func percentOf(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}
