package prefixes

import "fmt"

// Estimate is the kernel memory in bytes that a table of count routes will take,
// rounded up: enough to refuse a table before it brings a machine down. It counts
// routes that share one next hop, as they are in memory after the last is added;
// the memory of what is replaced while the trie grows is in the margin. cpus is
// the number of the kernel's possible CPUs, which matters to IPv6 only.
//
// The set may be longer than [Generate] makes; the estimate does not depend on the
// seed. A layout of File gets the figure of the largest layout.
func Estimate(l Layout, f Family, count, cpus int) (int64, error) {
	per, err := BytesPerRoute(l, f, cpus)
	if err != nil {
		return 0, err
	}
	if count < 0 || cpus < 0 {
		return 0, fmt.Errorf("no estimate for %d routes and %d CPUs", count, cpus)
	}
	return int64(count) * per, nil
}

// BytesPerRoute is what [Estimate] takes one route for, in bytes.
//
// IPv4: a struct key_vector leaf (48 bytes), a struct fib_alias (56) and a share
// of the tnodes, 8 bytes a pointer (net/ipv4/fib_trie.c), depend on the layout.
// IPv6: a struct fib6_info with its fib6_nh, a share of the fib6_nodes (64), and
// a pointer for each possible CPU (rt6i_pcpu, fib6_nh_init, net/ipv6/route.c); the
// layout hardly matters.
//
// The figures are the largest of what SUnreclaim + VmallocUsed + Percpu of
// /proc/meminfo grew by, with a tenth or more on top: 1 to 3 tables each of 100k,
// 500k and 1M IPv4 and of 50k and 200k IPv6 routes; Linux 6.18, x86-64, SLUB, 2
// CPUs, other work on the machine. Smaller tables have the larger figures. That
// each further CPU costs 8 bytes is read in the source, not measured.
//
//	bytes a route   dense  sparse  random  linear32  dfz
//	IPv4              178     192     190       162  193
//	IPv6              837     810     820       821  812
//
// Debug kernels (KASAN, slab debugging) take several times as much.
func BytesPerRoute(l Layout, f Family, cpus int) (int64, error) {
	if err := f.valid(); err != nil {
		return 0, err
	}
	if f == IPv6 {
		if _, err := ParseLayout(string(l)); err != nil {
			return 0, err
		}
		return 928 + 8*int64(cpus), nil
	}
	switch l {
	case Linear32:
		return 184, nil
	case Dense:
		return 200, nil
	case Sparse, Random, DFZ, File:
		return 216, nil
	}
	return 0, fmt.Errorf("layout %q is unknown", string(l))
}
