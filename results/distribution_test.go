package results

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDistribute(t *testing.T) {
	var times []time.Duration
	for i := 1000; i >= 1; i-- {
		times = append(times, time.Duration(i))
	}
	want := &Distribution{Count: 1000, Min: 1, P50: 500, P90: 900, P99: 990, P999: 999, Max: 1000}
	if diff := cmp.Diff(want, Distribute(times)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	one := &Distribution{Count: 1, Min: 7, P50: 7, P90: 7, P99: 7, P999: 7, Max: 7}
	if diff := cmp.Diff(one, Distribute([]time.Duration{7})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if Distribute(nil) != nil {
		t.Error("a distribution of nothing")
	}
}
