package churn

import "testing"

func TestSubnetAndHost(t *testing.T) {
	for _, test := range []struct {
		family, bits int
		i, n         uint64
		subnet, host string
	}{
		{4, 24, 0, 0, "10.0.0.0/24", "10.0.0.1/24"},
		{4, 24, 8191, 0, "10.31.255.0/24", "10.31.255.1/24"},
		{4, 24, 65536, 0, "11.0.0.0/24", "11.0.0.1/24"},
		{4, 8, 116, 0, "126.0.0.0/8", "126.0.0.1/8"},
		{4, 18, 1, 8191, "10.0.64.0/18", "10.0.96.0/18"},
		{4, 31, 3, 1, "10.0.0.6/31", "10.0.0.7/31"},
		{4, 32, 3, 0, "10.0.0.3/32", "10.0.0.3/32"},
		{6, 64, 0, 0, "2001:db8::/64", "2001:db8::1/64"},
		{6, 64, 8191, 41, "2001:db8:0:1fff::/64", "2001:db8:0:1fff::2a/64"},
		{6, 48, 3, 0, "2001:db8:3::/48", "2001:db8:3::1/48"},
		{6, 112, 65537, 0, "2001:db8::1:1:0/112", "2001:db8::1:1:1/112"},
		{6, 128, 5, 0, "2001:db8::5/128", "2001:db8::5/128"},
		{6, 65, 3, 0, "2001:db8:0:1:8000::/65", "2001:db8:0:1:8000::1/65"},
	} {
		s := subnet(test.family, test.bits, test.i)
		if s.String() != test.subnet || s != s.Masked() {
			t.Errorf("subnet(%d, %d, %d) = %s, want %s", test.family, test.bits, test.i, s, test.subnet)
		}
		if h := host(s, test.n); h.String() != test.host || h.Masked() != s {
			t.Errorf("host(%s, %d) = %s, want %s", s, test.n, h, test.host)
		}
	}
}

// The last subnet and the last host of every length are still inside.
func TestSpaceEnds(t *testing.T) {
	for _, family := range []int{4, 6} {
		s := poolOf(family)
		for bits := s.minBits; bits <= s.maxBits; bits++ {
			if s.capacity(bits) == 1<<62 {
				continue
			}
			last := subnet(family, bits, s.capacity(bits)-1)
			next := subnet(family, bits, s.capacity(bits))
			if !last.Addr().Less(next.Addr()) {
				t.Errorf("/%d: the last subnet %s is not below %s", bits, last, next)
			}
			switch text := next.Addr().String(); text {
			case "127.0.0.0", "2001:1000::":
			default:
				t.Errorf("/%d: the space ends at %s", bits, text)
			}
			if h := hosts(family, bits); h < 1<<62 && host(last, h-1).Masked() != last {
				t.Errorf("/%d: the last host %s is outside of %s", bits, host(last, h-1), last)
			}
		}
	}
}

func TestBitsForHosts(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		want int
	}{{1, 24}, {254, 24}, {255, 23}, {8192, 18}, {16382, 18}, {16383, 17}, {1<<24 - 2, 8}} {
		if got, err := bitsForHosts(4, 24, test.n); err != nil || got != test.want {
			t.Errorf("%d hosts: /%d, %v; want /%d", test.n, got, err, test.want)
		}
	}
	if bits, err := bitsForHosts(4, 24, 1<<24); err == nil {
		t.Errorf("a /%d was found for %d hosts", bits, 1<<24)
	}
}
