package prefixes

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"go/format"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "derive dfz_ipv4.go and dfz_ipv6.go again from bart's list")

// snapshotPath is the Internet's table as bart ships it.
func snapshotPath(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gaissmai/bart").Output()
	if err != nil {
		t.Fatalf("finding bart's list: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal/tests/testdata/prefixes.txt.gz")
}

// snapshot is that table of one family, ascending.
func snapshot(t testing.TB, f Family) *Set {
	t.Helper()
	file, err := os.Open(snapshotPath(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newSet(f, 1<<20)
	for lines := bufio.NewScanner(zip); lines.Scan(); {
		p := netip.MustParsePrefix(lines.Text())
		if p.Addr().Is4() == (f == IPv4) {
			s.appendPrefix(p)
		}
	}
	return s.ascending()
}

func (s *Set) ascending() *Set {
	order := make([]int, s.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, s.compare)
	out := newSet(s.family, s.Len())
	for _, i := range order {
		out.appendFrom(s, i)
	}
	return out
}

// A census counts, for nodes of one kind, what a dfzCell describes.
type census struct {
	nodes, prefixes               int
	rests                         int   // with something left
	runs                          []int // lengths of those whose rest is a run
	splits, leftEmpty, rightEmpty int
	leftSmaller                   int
	smaller                       [][2]int // in the smaller half, of
}

type kind struct{ depth, size, cover int }

// A counter walks the snapshot as the dealer walks what it draws.
type counter struct {
	set    *Set
	counts map[kind]*census
	runs   map[kind]*census
}

func (c *counter) of(depth, n, cover int) *census {
	k := kind{depth, sizeClass(n), cover}
	if c.counts[k] == nil {
		c.counts[k] = &census{}
	}
	return c.counts[k]
}

func (c *counter) walk(from, to, depth, cover int) {
	if from == to {
		return
	}
	node := c.of(depth, to-from, cover)
	node.nodes++
	if c.set.Bits(from) == depth {
		node.prefixes++
		cover = coverSelf
		from++
	}
	if from == to {
		return
	}
	rest := c.of(depth, to-from, cover)
	rest.rests++
	if to-from > 1 && c.isRun(from, to) {
		rest.runs = append(rest.runs, c.set.Bits(from))
		c.walkRun(from, to, depth)
		return
	}
	middle := c.middle(from, to, depth)
	rest.split(from, middle, to)
	c.walk(from, middle, depth+1, coverOfLeft(cover))
	c.walk(middle, to, depth+1, coverOfRight(cover))
}

// blocks divides the snapshot as walk does.
func (c *counter) blocks(to []dfzBlock, leastBits, largest, first, last, depth, cover int) []dfzBlock {
	if first == last {
		return to
	}
	block := dfzBlock{
		start: c.set.key(first).mask(depth).hi,
		depth: uint8(depth), cover: uint8(cover), number: last - first,
	}
	switch {
	case depth < leastBits:
	case last-first > largest/8 && c.isRun(first, last):
		block.run = uint8(c.set.Bits(first))
		return append(to, block)
	case last-first <= largest:
		return append(to, block)
	}
	if c.set.Bits(first) == depth {
		block.run, block.number = uint8(depth), 1
		to = append(to, block)
		first++
		cover = coverSelf
	}
	middle := c.middle(first, last, depth)
	to = c.blocks(to, leastBits, largest, first, middle, depth+1, coverOfLeft(cover))
	return c.blocks(to, leastBits, largest, middle, last, depth+1, coverOfRight(cover))
}

func (c *counter) isRun(from, to int) bool {
	for i := from; i < to; i++ {
		if c.set.Bits(i) != c.set.Bits(from) {
			return false
		}
	}
	return true
}

func (c *counter) walkRun(from, to, depth int) {
	height := c.set.Bits(from) - depth
	if from == to || height == 0 {
		return
	}
	k := kind{height, sizeClass(to - from), 0}
	if c.runs[k] == nil {
		c.runs[k] = &census{}
	}
	middle := c.middle(from, to, depth)
	c.runs[k].split(from, middle, to)
	if middle > from {
		c.walkRun(from, middle, depth+1)
	}
	if middle < to {
		c.walkRun(middle, to, depth+1)
	}
}

func (c *counter) middle(from, to, depth int) int {
	for from < to && !c.set.key(from).bit(depth) {
		from++
	}
	return from
}

func (n *census) split(from, middle, to int) {
	n.splits++
	switch middle {
	case from:
		n.leftEmpty++
	case to:
		n.rightEmpty++
	default:
		left, right := middle-from, to-middle
		if left < right || left == right && n.leftSmaller < len(n.smaller)/2 {
			n.leftSmaller++
		}
		n.smaller = append(n.smaller, [2]int{min(left, right), to - from})
	}
}

// derive makes a model whose blocks have at most largest prefixes, or are runs,
// and are at least leastBits long: so what is never allocated has none. A kind of
// node has a cell if there are leastNodes of it.
func derive(s *Set, leastBits, commonBits, largest, leastNodes int) *dfzModel {
	m := &dfzModel{family: s.family, snapshot: s.Len(), commonBits: commonBits}
	c := counter{set: s, counts: make(map[kind]*census), runs: make(map[kind]*census)}
	c.walk(0, s.Len(), 0, coverNone)
	m.blocks = c.blocks(nil, leastBits, largest, 0, s.Len(), 0, coverNone)
	for k, n := range c.counts {
		if k.depth >= leastBits && n.nodes+n.rests >= leastNodes {
			m.cells = append(m.cells, cellOf(k, n))
		}
	}
	for k, n := range c.runs {
		if n.splits >= leastNodes {
			m.runs = append(m.runs, dfzRun{uint8(k.depth), uint8(k.size), splitOf(k.size, n)})
		}
	}
	slices.SortFunc(m.cells, func(a, b dfzCell) int {
		return cellIndex(int(a.depth), int(a.size), int(a.cover)) - cellIndex(int(b.depth), int(b.size), int(b.cover))
	})
	slices.SortFunc(m.runs, func(a, b dfzRun) int {
		return cellIndex(int(a.height), int(a.size), 0) - cellIndex(int(b.height), int(b.size), 0)
	})
	calibrate(m, s)
	return m
}

// calibrate scales the probability of a prefix at each depth until the generated
// lengths are the snapshot's: the cascade blurs sizes, and regular nesting with
// them.
func calibrate(m *dfzModel, s *Set) {
	const rounds, seeds = 12, 4
	share := seeds * 0.01 * float64(s.Len()) // rarer lengths are left
	var want [129]float64
	for _, bits := range s.bits {
		want[bits] += seeds
	}
	for range rounds {
		var got [129]float64
		for seed := range uint64(seeds) {
			for _, bits := range m.generate(s.Len(), seed+100).bits {
				got[bits]++
			}
		}
		for i := range m.cells {
			c := &m.cells[i]
			if d := int(c.depth); d < m.commonBits && want[d] > share && got[d] > 0 {
				scale := min(max(want[d]/got[d], 0.9), 1.1)
				c.prefix = uint16(min(dfzOne, float64(c.prefix)*scale+0.5))
			}
			if int(c.runBits[dfzRunBits/2]) == m.commonBits && m.family == IPv6 {
				scale := want[m.commonBits] / got[m.commonBits]
				c.run = uint16(min(dfzOne, float64(c.run)*scale+0.5))
			}
		}
	}
}

func part(of, all int) uint16 { return uint16((of*dfzOne + all/2) / max(all, 1)) }

func cellOf(k kind, n *census) dfzCell {
	c := dfzCell{depth: uint8(k.depth), size: uint8(k.size), cover: uint8(k.cover)}
	c.prefix = part(n.prefixes, n.nodes)
	c.run = part(len(n.runs), n.rests)
	slices.Sort(n.runs)
	for i := range c.runBits {
		if len(n.runs) > 0 {
			c.runBits[i] = uint8(n.runs[(2*i+1)*len(n.runs)/(2*dfzRunBits)])
		}
	}
	c.split = splitOf(k.size, n)
	return c
}

func splitOf(size int, n *census) dfzSplit {
	split := dfzSplit{
		leftEmpty:   part(n.leftEmpty, n.splits),
		rightEmpty:  part(n.rightEmpty, n.splits),
		leftSmaller: part(n.leftSmaller, len(n.smaller)),
	}
	if len(n.smaller) == 0 {
		return split
	}
	if size < dfzExact {
		for i := range split.smaller {
			atMost := 0
			for _, s := range n.smaller {
				if s[0] <= i+1 {
					atMost++
				}
			}
			split.smaller[i] = part(atMost, len(n.smaller))
		}
		return split
	}
	codes := make([]uint16, 0, len(n.smaller))
	for _, s := range n.smaller {
		code := uint16(s[0])
		if s[0] > dfzExact {
			code = max(dfzExact+1, part(s[0], s[1]))
		}
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for i := range split.smaller {
		split.smaller[i] = codes[(2*i+1)*len(codes)/(2*dfzSmaller)]
	}
	return split
}

func list[T any](values []T) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ", "), "[]")
}

func splitSource(s dfzSplit) string {
	return fmt.Sprintf("%d, %d, %d, %s", s.leftEmpty, s.rightEmpty, s.leftSmaller, list(s.smaller[:]))
}

func source(m *dfzModel) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by go test -run TestDFZStatistics -update; DO NOT EDIT.\n\n")
	fmt.Fprintf(&b, "package prefixes\n\n")
	fmt.Fprintf(&b, "// dfz%s is derived from a snapshot of the Internet's %s table: see dfz.go.\n", m.family, m.family)
	fmt.Fprintf(&b, "func dfz%s() *dfzModel {\nreturn &dfzModel{\nfamily: %s,\nsnapshot: %d,\ncommonBits: %d,\n",
		m.family, m.family, m.snapshot, m.commonBits)
	fmt.Fprintf(&b, "blocks: []dfzBlock{\n")
	for i, x := range m.blocks {
		fmt.Fprintf(&b, "{%#x, %d, %d, %d, %d},%s", x.start, x.depth, x.cover, x.run, x.number, map[bool]string{true: "\n"}[i%4 == 3])
	}
	fmt.Fprintf(&b, "\n},\ncells: dfzCells([]dfzCellRow{\n")
	for _, c := range m.cells {
		fmt.Fprintf(&b, "{%d, %d, %d, %d, %d, %s, %s},\n",
			c.depth, c.size, c.cover, c.prefix, c.run, list(c.runBits[:]), splitSource(c.split))
	}
	fmt.Fprintf(&b, "}),\nruns: dfzRuns([]dfzRunRow{\n")
	for _, r := range m.runs {
		fmt.Fprintf(&b, "{%d, %d, %s},\n", r.height, r.size, splitSource(r.split))
	}
	fmt.Fprintf(&b, "}),\n}\n}\n")
	text, err := format.Source(b.Bytes())
	if err != nil {
		panic(err)
	}
	return text
}

func updateModels(t *testing.T) {
	for _, m := range []*dfzModel{
		derive(snapshot(t, IPv4), 8, 24, 4000, 60),
		derive(snapshot(t, IPv6), 16, 48, 120, 30),
	} {
		name := "dfz_" + strings.ToLower(m.family.String()) + ".go"
		if err := os.WriteFile(name, source(m), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s written: %d cells. Run the test again without -update", name, len(m.cells))
	}
}

func TestDFZStatistics(t *testing.T) {
	if *update {
		updateModels(t)
		return
	}
	for _, f := range []Family{IPv4, IPv6} {
		t.Run(f.String(), func(t *testing.T) {
			compareStatistics(t, snapshot(t, f))
		})
	}
}
