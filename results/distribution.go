package results

import (
	"slices"
	"time"
)

// A Distribution is how the times of single operations of one phase of one run
// are spread, in ns. Percentiles are exact: the smallest time that at least that
// share of the operations did not exceed.
type Distribution struct {
	Count int64 `json:"count"`
	Min   int64 `json:"min_ns"`
	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	P999  int64 `json:"p999_ns"`
	Max   int64 `json:"max_ns"`
}

// Distribute sorts times in place and describes them; it is nil of none.
func Distribute(times []time.Duration) *Distribution {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	at := func(perMille int) int64 {
		rank := (len(times)*perMille + 999) / 1000 // 1-based, rounded up
		return times[max(rank, 1)-1].Nanoseconds()
	}
	return &Distribution{
		Count: int64(len(times)), Min: at(0), P50: at(500), P90: at(900), P99: at(990), P999: at(999), Max: at(1000),
	}
}
