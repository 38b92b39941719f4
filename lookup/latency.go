package lookup

import (
	"cmp"
	"fmt"
	"slices"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/results"
)

// longest is the longest time a histogram keeps apart, in ns; longer ones count as
// that.
const longest = 60_000_000_000

// newHistogram has three significant digits: exact below 2 us.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 3) }

// record files a time. It cannot fail, since it keeps to the histogram's bounds.
func record(h *hdrhistogram.Histogram, ns, count int64) {
	_ = h.RecordValues(min(max(ns, 0), longest), count)
}

// latencyOf is the record of a stretch: the times of the lookups, and those of the
// calibration.
func latencyOf(probe, stretch string, rate int64, times, blank *hdrhistogram.Histogram) (results.Latency, error) {
	encoded, err := times.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return results.Latency{}, fmt.Errorf("encode the times of %s: %w", probe, err)
	}
	at := times.ValueAtPercentile
	l := results.Latency{
		Probe: probe, Stretch: stretch, Rate: rate, Count: times.TotalCount(),
		Min: times.Min(), P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9), Max: times.Max(),
		MAD: mad(times), CalibrationP50: blank.ValueAtPercentile(50), HDR: string(encoded),
	}
	l.NetP50 = l.P50 - l.CalibrationP50
	return l, nil
}

// mad is the median absolute deviation from the median, as exact as the
// histogram's buckets.
func mad(h *hdrhistogram.Histogram) int64 {
	type bucket struct{ deviation, count int64 }
	median := h.ValueAtPercentile(50)
	var buckets []bucket
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			buckets = append(buckets, bucket{max(b.To-median, median-b.To), b.Count})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.deviation, b.deviation) })
	var below int64
	for _, b := range buckets {
		if below += b.count; 2*below >= h.TotalCount() {
			return b.deviation
		}
	}
	return 0
}
