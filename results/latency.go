package results

// A Latency is the distribution of one probe's lookup times over one stretch of a
// run. Times are ns; percentiles are of all lookups of the stretch.
type Latency struct {
	Probe   string `json:"probe"`   // "netlink", "bpf", "connect"
	Stretch string `json:"stretch"` // "before", "during", "after"; "rest" where nothing churns
	Rate    int64  `json:"rate"`    // lookups asked for a second, open loop; 0: closed loop, as fast as they go
	// Reached is lookups a second, of all readers together, while the probe had its
	// turns.
	Reached float64 `json:"reached"`
	Count   int64   `json:"count"` // lookups measured

	Min  int64 `json:"min_ns"`
	P50  int64 `json:"p50_ns"`
	P90  int64 `json:"p90_ns"`
	P95  int64 `json:"p95_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p999_ns"`
	Max  int64 `json:"max_ns"`
	MAD  int64 `json:"mad_ns"`

	// CalibrationP50 is the median of the same probe without the lookup, and
	// NetP50 what is left of P50 without it: negative where it is not
	// distinguishable from nothing.
	CalibrationP50 int64 `json:"calibration_p50_ns"`
	NetP50         int64 `json:"net_p50_ns" sign:"any"`

	HDR string `json:"hdr"` // the histogram, in hdrhistogram-go's base64 encoding
}
