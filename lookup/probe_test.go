package lookup

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"fibchurn/internal/monotonic"
	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// answers asks for every key once, or a little more often, and returns the number
// of answers and the first wrong one.
func (b *bed) answers(t *testing.T, s *Spec, k kind) (n int, wrong error) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(s, b.set, b.o.Covers)
	if err != nil {
		t.Fatal(err)
	}
	c, err := monotonic.Start()
	if err != nil {
		t.Fatal(err)
	}
	err = b.n.Do(func() error {
		i, err := k.open(s, keys, &c)
		if err != nil {
			return err
		}
		defer i.close()
		for {
			tr := turn{clock: &c, until: c.Now() + 10_000_000, phase: &phase{}, sheet: newSheet()}
			if err := i.turn(&tr); err != nil {
				return err
			}
			if n += int(tr.sheet.times[looked].TotalCount()); n >= 2*s.KeyCount {
				break
			}
		}
		if i.unkept() != 0 {
			t.Errorf("%d reports were lost", i.unkept())
		}
		seen := map[int]bool{}
		i.last(func(r report) {
			seen[r.key] = true
			if r.asked > r.answered || r.asked < -1_000_000 || r.answered > c.Now()+1_000_000 {
				t.Errorf("asked at %d, answered at %d", r.asked, r.answered)
			}
			a := r.answer.unpack()
			a.Bound = k.bound(s)
			if err := b.o.Check(keys.At(r.key), a, c.At(r.asked), c.At(r.answered)); err != nil && wrong == nil {
				wrong = err
			}
		})
		if len(seen) != s.KeyCount && s.Order != Chain {
			t.Errorf("%d of %d keys were answered", len(seen), s.KeyCount)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, wrong
}

// allKinds are the instruments of all probes.
func allKinds() []kind {
	s := DefaultSpec()
	s.Probes = Probes()
	return s.kinds()
}

func TestProbesAnswerRight(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.DFZ, 2000)
		if f == prefixes.IPv6 {
			b.address(t, "2001:db8:ffff::1/64") // the connect probe needs a source
			if err := b.o.Add(prefixOf("2001:db8:ffff::/64"), Route{Kind: Unicast}); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range allKinds() {
			for _, keys := range KeyKinds() {
				for _, order := range KeyOrders() {
					t.Run(f.String()+"/"+k.name+"/"+keys+"/"+order, func(t *testing.T) {
						s := b.spec()
						s.KeyCount = 1000
						s.Probes, s.Keys, s.Order = []string{k.probe}, keys, order
						if _, err := b.answers(t, s, k); err != nil {
							t.Error(err)
						}
					})
				}
			}
		}
	}
}

func TestFIBMatchNamesThePrefix(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.DFZ, 500)
		for _, match := range []bool{true, false} {
			s := b.spec()
			s.FIBMatch = match
			keys, err := NewKeys(s, b.set, b.o.Covers)
			if err != nil {
				t.Fatal(err)
			}
			err = b.n.Do(func() error {
				p, err := OpenNetlinkProbe(s, keys)
				if err != nil {
					return err
				}
				defer p.Close()
				for i := range keys.Len() {
					if err := p.Ask(i); err != nil {
						return err
					}
					a := p.Answer()
					if match != (a.Bits >= 0) || a.OIF != b.link.Index || a.Kinds != Unicast || a.Foreign {
						t.Fatalf("%s: %s", keys.At(i), a.Describe(keys.At(i)))
					}
					if err := b.o.Check(keys.At(i), a, time.Time{}, time.Time{}); err != nil {
						t.Fatal(err)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A route that the kernel lost, and one that it ought not to have, are found by
// every probe that can tell.
func TestPlantedWrongAnswersAreFound(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		for _, k := range allKinds() {
			t.Run(f.String()+"/"+k.name, func(t *testing.T) {
				b := newBed(t, f, prefixes.Random, 200)
				if f == prefixes.IPv6 {
					b.address(t, "2001:db8:ffff::1/64")
				}
				s := b.spec()
				s.KeyCount, s.Probes = 2000, []string{k.probe}
				if _, err := b.answers(t, s, k); err != nil {
					t.Fatal(err)
				}
				lost, err := b.set.Sample(1)
				if err != nil {
					t.Fatal(err)
				}
				b.withdraw(t, lost)
				_, err = b.answers(t, s, k)
				var wrong *WrongAnswerError
				if !errors.As(err, &wrong) || !lost.At(0).Contains(wrong.Key) || wrong.Answer.Kinds&NoRoute == 0 {
					t.Fatalf("a lost route: %v", err)
				}
				b.routes(t, lost, unix.RT_TABLE_MAIN)
				// The oracle is told of another interface for one prefix, and of a
				// blackhole where the probe cannot tell interfaces.
				other := Route{Kind: Unicast, OIF: b.link.Index + 7}
				if k.probe == ProbeConnect {
					other = Route{Kind: Blackhole}
				}
				if err := b.o.Add(lost.At(0), other); err != nil {
					t.Fatal(err)
				}
				if _, err = b.answers(t, s, k); !errors.As(err, &wrong) || !lost.At(0).Contains(wrong.Key) {
					t.Errorf("another next hop: %v", err)
				}
			})
		}
	}
}

// Without the FIB match a skipped longer prefix of the same next hop cannot be
// told; with it, it is.
func TestSkippedPrefixIsFound(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Random, 50)
	short := b.set.At(0)
	long := prefixOf(short.Addr().Next().String() + "/32")
	if err := b.o.Add(long, Route{Kind: Unicast, OIF: b.link.Index}); err != nil {
		t.Fatal(err)
	}
	s := b.spec()
	s.Dst, s.KeyCount, s.Probes, s.FIBMatch = long.Addr().String(), 4, []string{ProbeNetlink}, true
	_, err := b.answers(t, s, kind{ProbeNetlink, ProbeNetlink, 1, true})
	var wrong *WrongAnswerError
	if !errors.As(err, &wrong) || wrong.Answer.Bits != short.Bits() || len(wrong.Expected) != 1 || wrong.Expected[0].Prefix != long {
		t.Errorf("a skipped prefix: %v", err)
	}
}

func TestTablesAndRules(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.Random, 50)
		inTable, err := prefixes.Generate(prefixes.Linear32, f, 100, 1)
		if err != nil {
			t.Fatal(err)
		}
		b.routes(t, inTable, 100)
		source := "10.9.9.9"
		if f == prefixes.IPv6 {
			source = "2001:db8:aaaa::9"
		}
		from := prefixOf(source + map[prefixes.Family]string{4: "/32", 6: "/128"}[f])
		var batch rtnl.Batch
		if err := batch.NewRule(rtnl.Rule{Family: int(f), From: from, Priority: 100, Table: 100}); err != nil {
			t.Fatal(err)
		}
		b.send(t, &batch)
		main, table := b.o, oracleOf(t, inTable)
		for _, p := range inTable.All() {
			if err := table.Add(p, Route{Kind: Unicast, OIF: b.link.Index}); err != nil {
				t.Fatal(err)
			}
		}
		for _, test := range []struct {
			name   string
			change func(*Spec)
			oracle *Oracle
			set    *prefixes.Set
		}{
			{"full", func(*Spec) {}, main, b.set},
			{"direct main", func(s *Spec) { s.Direct = true }, main, b.set},
			{"direct 100", func(s *Spec) { s.Direct, s.Table = true, 100 }, table, inTable},
			{"direct 101", func(s *Spec) { s.Direct, s.Table = true, 101 }, oracleOf(t, &prefixes.Set{}), inTable},
			// As output, an IPv6 lookup shows rules no source.
			{"rule", func(s *Spec) { s.Src, s.Direction, s.IIF, s.OIF = source, Input, s.OIF, 0 }, table, inTable},
			{"tos", func(s *Spec) { s.TOS = 16 }, main, b.set},
		} {
			t.Run(f.String()+"/"+test.name, func(t *testing.T) {
				at := *b
				at.o, at.set = test.oracle, test.set
				s := b.spec()
				s.KeyCount, s.Probes = 300, []string{ProbeBPF}
				test.change(s)
				if _, err := at.answers(t, s, kind{"bpf", ProbeBPF, 1, true}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestInputLookups(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.Random, 50)
		for _, probe := range []string{ProbeNetlink, ProbeBPF} {
			for _, keys := range []string{Hit, Miss} {
				t.Run(f.String()+"/"+probe+"/"+keys, func(t *testing.T) {
					s := b.spec()
					s.Probes, s.Keys, s.KeyCount = []string{probe}, keys, 200
					s.Direction, s.OIF, s.IIF, s.Src = Input, 0, b.link.Index, b.set.At(0).Addr().Next().String()
					if _, err := b.answers(t, s, kind{probe, probe, 1, true}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// What forwarding off, a missing interface and a missing privilege mean is said in
// words; the last is a reason to go without.
func TestBPFProbeRefuses(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Dense, 5)
	keys := keysOf(t, b.set, func(s *Spec) {})
	open := func(s *Spec) error {
		return b.n.Do(func() error {
			p, err := OpenBPFProbe(s, keys, 1)
			if err == nil {
				p.Close()
			}
			return err
		})
	}
	s := b.spec()
	s.OIF = 0
	if err := open(s); err == nil || !strings.Contains(err.Error(), "needs an interface") {
		t.Errorf("without an interface: %v", err)
	}
	s = b.spec()
	s.OIF = 12345
	if err := open(s); !errors.Is(err, unix.ENODEV) {
		t.Errorf("without that interface: %v", err)
	}
	if err := b.n.SetSysctl("net.ipv4.ip_forward", "0"); err != nil {
		t.Fatal(err)
	}
	if err := open(b.spec()); err == nil || !strings.Contains(err.Error(), "forwarding is off") {
		t.Errorf("without forwarding: %v", err)
	}
	var unsupported *ns.UnsupportedError
	if err := asNobody(t, func() error { _, err := OpenBPFProbe(b.spec(), keys, 1); return err }); !errors.As(err, &unsupported) {
		t.Errorf("without privilege: %v", err)
	}
	for _, err := range []error{unix.ENOSYS, ebpf.ErrNotSupported, unix.Errno(524)} {
		if !(kind{wanted: false}).forgivable(bpfRefused(err)) || (kind{wanted: true}).forgivable(bpfRefused(err)) {
			t.Errorf("%v is not forgiven as it should", err)
		}
	}
	if err := bpfRefused(unix.ENOMEM); err != unix.ENOMEM {
		t.Errorf("a failure became %v", err)
	}
}

// asNobody runs f on a thread without privilege, which ends with it.
func asNobody(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // which must keep its privilege
			err := asNobody(t, f)
			runtime.UnlockOSThread()
			done <- err
			return
		}
		const keep, nobody = ^uintptr(0), 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, nobody, keep); errno != 0 {
			done <- errno
			return
		}
		done <- f()
	}()
	return <-done
}

// What the kernel counts as nodes of its tree is what the depth is computed from.
func TestIPv6NodesAreTheKernels(t *testing.T) {
	b := newBed(t, prefixes.IPv6, prefixes.Random, 1)
	set := generate(t, prefixes.IPv6, 3000)
	before, err := b.n.Tables()
	if err != nil {
		t.Fatal(err)
	}
	b.withdraw(t, b.set)
	empty, err := b.n.Tables()
	if err != nil {
		t.Fatal(err)
	}
	b.routes(t, set, unix.RT_TABLE_MAIN)
	after, err := b.n.Tables()
	if err != nil {
		t.Fatal(err)
	}
	// fe80::/64 is in the table beside them, and where it parts from them is a node
	// that the empty table has as well, or the root.
	want := radixOf(set).nodes - 1
	got := after.IPv6.Nodes - empty.IPv6.Nodes
	if got != want && got != want+1 {
		t.Errorf("%d nodes more than in the empty table (%d before), want %d", got, before.IPv6.Nodes, want)
	}
}

func TestProbesAllocateNothing(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Dense, 100)
	s := b.spec()
	keys := keysOf(t, b.set, func(s *Spec) {})
	c, err := monotonic.Start()
	if err != nil {
		t.Fatal(err)
	}
	err = b.n.Do(func() error {
		for _, k := range allKinds() {
			i, err := k.open(s, keys, &c)
			if err != nil {
				return err
			}
			defer i.close()
			tr := turn{clock: &c, phase: &phase{}, sheet: newSheet()}
			for _, rate := range []int64{0, 100_000} {
				for _, tr.blank = range []bool{false, true} {
					if k.batch > 1 && rate > 0 {
						continue
					}
					n := testing.AllocsPerRun(3, func() {
						tr.pace = schedule{c.Now(), rate}
						tr.until = c.Now() + 1_000_000
						if err := i.turn(&tr); err != nil {
							t.Error(err)
						}
					})
					if n != 0 && (k.probe != ProbeBPF || n > 1) { // one closure a turn
						t.Errorf("%s at rate %d, blank %v: %v allocations a turn", k.name, rate, tr.blank, n)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInitialNamespaceIsRefused(t *testing.T) {
	netnstest.Root(t)
	if err := refuseInitial(); !errors.Is(err, errInitialNamespace) {
		t.Errorf("outside: %v", err)
	}
	n, _ := netnstest.New(t)
	if err := n.Do(refuseInitial); err != nil {
		t.Errorf("inside: %v", err)
	}
}

// Routes out of two interfaces: what an output lookup by bpf is bound to, and what
// the others find.
func TestTwoInterfaces(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.Dense, 100)
		if f == prefixes.IPv6 {
			b.address(t, "2001:db8:ffff::1/64")
		}
		second := *b
		second.link = ns.NewLink(b.link.Kind, 1)
		var batch rtnl.Batch
		if err := errors.Join(second.link.Create(&batch), second.link.BringUp(&batch)); err != nil {
			t.Fatal(err)
		}
		b.send(t, &batch)
		set, err := prefixes.Generate(prefixes.Linear32, f, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		second.routes(t, set, unix.RT_TABLE_MAIN)
		for _, p := range set.All() {
			if err := b.o.Add(p, Route{Kind: Unicast, OIF: second.link.Index}); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range allKinds() {
			for _, oif := range []uint32{b.link.Index, second.link.Index} {
				s := b.spec()
				s.Dst, s.KeyCount, s.OIF, s.Probes = set.At(0).Addr().String()+map[prefixes.Family]string{4: "/23", 6: "/119"}[f], 1000, oif, []string{k.probe}
				if _, err := b.answers(t, s, k); err != nil {
					t.Errorf("%s %s bound to %d: %v", f, k.name, oif, err)
				}
			}
		}
	}
}

// A source that the reverse path filter does not let pass is no right answer.
func TestReversePathFilter(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Random, 50)
	k := kind{ProbeNetlink, ProbeNetlink, 1, true}
	for _, test := range []struct {
		filter string
		source netip.Addr
		passes bool
	}{
		{"0", netip.MustParseAddr("192.0.2.1"), true}, {"1", netip.MustParseAddr("192.0.2.1"), false},
		{"1", b.set.At(0).Addr().Next(), true},
	} {
		for _, name := range []string{"all", ns.NewLink("", 0).Name} {
			if err := b.n.SetSysctl("net.ipv4.conf."+name+".rp_filter", test.filter); err != nil {
				t.Fatal(err)
			}
		}
		s := b.spec()
		s.Probes, s.KeyCount = []string{ProbeNetlink}, 100
		s.Direction, s.OIF, s.IIF, s.Src = Input, 0, b.link.Index, test.source.String()
		_, err := b.answers(t, s, k)
		var wrong *WrongAnswerError
		if passes := !errors.As(err, &wrong); passes != test.passes || passes && err != nil {
			t.Errorf("filter %s, source %s: %v", test.filter, test.source, err)
		}
	}
}

// Where the kernel's bpf_fib_lookup takes no mark, that is said; a kernel of 6.10 or
// later must take it.
func TestMark(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Dense, 50)
	s := b.spec()
	s.Mark, s.KeyCount = 7, 100
	for _, k := range allKinds() {
		if k.probe != ProbeBPF {
			if _, err := b.answers(t, s, k); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		}
	}
	keys := keysOf(t, b.set, func(*Spec) {})
	err := b.n.Do(func() error {
		p, err := OpenBPFProbe(s, keys, 1)
		if err == nil {
			p.Close()
		}
		return err
	})
	var unsupported *ns.UnsupportedError
	if errors.As(err, &unsupported) && !kernelIs(t, 6, 10) {
		t.Logf("%v", err)
	} else if err != nil {
		t.Error(err)
	}
}

// kernelIs reports whether the kernel is of that version or a later one.
func kernelIs(t *testing.T, major, minor int) bool {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var x, y int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &x, &y); err != nil {
		t.Fatal(err)
	}
	return x > major || x == major && y >= minor
}
