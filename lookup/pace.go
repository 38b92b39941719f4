package lookup

// A schedule says when each request is due: request i at start + i/rate, rounded
// down to the nanosecond, without the drift of a rounded interval.
type schedule struct {
	start int64 // ns
	rate  int64 // requests a second
}

// due is when request i is due, in ns.
func (s schedule) due(i int64) int64 {
	const second = 1_000_000_000
	return s.start + i/s.rate*second + i%s.rate*second/s.rate
}
