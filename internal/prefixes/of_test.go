package prefixes

import (
	"net/netip"
	"testing"
)

func TestOf(t *testing.T) {
	list := []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("1.2.3.4/32")}
	s, err := Of(IPv4, list)
	if err != nil || s.Len() != len(list) || s.Family() != IPv4 {
		t.Fatal(s, err)
	}
	for i, p := range list {
		if s.At(i) != p {
			t.Errorf("prefix %d is %s, want %s", i, s.At(i), p)
		}
	}
	for _, bad := range []netip.Prefix{netip.MustParsePrefix("2001:db8::/64"), netip.MustParsePrefix("10.0.0.1/24"), {}} {
		if _, err := Of(IPv4, []netip.Prefix{bad}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
