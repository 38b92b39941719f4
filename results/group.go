package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// The cells of delete-iface that a sentence tells apart.
const (
	cellAddrs       = "addrs"
	cellRoutes      = "routes"
	cellSecondaries = "secondaries"
	cellEmpty       = "empty"
)

// A block is a set of runs whose figures belong side by side: one command, one
// kernel and machine, one spec.
type block struct {
	runs  []Run  // all of them
	cells []cell // those with samples, in the order in which they are shown
}

// A cell holds the samples of one cell.
type cell struct {
	name string
	runs []Run
}

// cell returns the cell of that name, or nil.
func (b *block) cell(name string) *cell {
	for i := range b.cells {
		if b.cells[i].name == name {
			return &b.cells[i]
		}
	}
	return nil
}

// samples returns the samples of all cells.
func (b *block) samples() []Run {
	var all []Run
	for _, c := range b.cells {
		all = append(all, c.runs...)
	}
	return all
}

// boots returns how many boots the runs are of.
func boots(runs []Run) int {
	seen := map[string]bool{}
	for i := range runs {
		seen[runs[i].Boot] = true
	}
	return len(seen)
}

// blocks groups runs, in order of first appearance.
func blocks(runs []Run) []block {
	var all []block
	for _, byMachine := range groupBy(runs, machineKey) {
		parts := [][]Run{byMachine}
		if cellsMixSpecs(byMachine) {
			parts = groupBy(byMachine, sharedSpec)
		}
		for _, part := range parts {
			all = append(all, newBlock(part))
		}
	}
	return all
}

func newBlock(runs []Run) block {
	b := block{runs: runs}
	for _, r := range runs {
		if !r.Sample() {
			continue
		}
		c := b.cell(r.Cell)
		if c == nil {
			b.cells = append(b.cells, cell{name: r.Cell})
			c = &b.cells[len(b.cells)-1]
		}
		c.runs = append(c.runs, ofFamilies(r))
	}
	slices.SortFunc(b.cells, func(x, y cell) int {
		return cmp.Or(cmp.Compare(cellRank(x.name), cellRank(y.name)),
			cmp.Compare(leadingNumber(x.name), leadingNumber(y.name)), cmp.Compare(x.name, y.name))
	})
	return b
}

// ofFamilies returns the run without the tables of an address family that its
// spec leaves out: they show but what the kernel does by itself, at its own time.
func ofFamilies(r Run) Run {
	for _, f := range specFields(r.Spec) {
		var families []int
		if f.name != "families" || json.Unmarshal(f.value, &families) != nil {
			continue
		}
		if !slices.Contains(families, 4) {
			r.Trie.Before.IPv4, r.Trie.After.IPv4 = nil, nil
		}
		if !slices.Contains(families, 6) {
			r.Trie.Before.IPv6, r.Trie.After.IPv6 = nil, nil
		}
	}
	return r
}

func cellRank(name string) int {
	known := append([]string{cellAddrs, cellRoutes, cellSecondaries, cellEmpty, cellCrossing, cellControl}, Paths()...)
	path, _, _ := strings.Cut(name, " (")
	if i := slices.Index(known, path); i >= 0 {
		return i
	}
	return len(known)
}

// groupBy keeps the order of the runs and of the groups' first runs.
func groupBy[K comparable](runs []Run, key func(*Run) K) [][]Run {
	var groups [][]Run
	index := map[K]int{}
	for _, r := range runs {
		k := key(&r)
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// A machine is what runs must share to be pooled.
type machine struct {
	command, label, kernel, version, arch, cpu, virtualisation, linkKind string
	bootOptions, debug, governor, fibchurn                               string
	cpus                                                                 int
	fibSyncMem                                                           int64
	rootless                                                             bool
}

func machineKey(r *Run) machine {
	e := &r.Environment
	return machine{
		r.Command, e.Label, e.Kernel, e.KernelVersion, e.Arch, e.CPU, e.Virtualisation, e.LinkKind,
		strings.Join(bootWords(e), " "), debugText(e), e.Governor, e.Fibchurn,
		e.CPUs, e.FibSyncMem, e.Rootless,
	}
}

// cellsMixSpecs reports whether some cell has runs of different parameters.
func cellsMixSpecs(runs []Run) bool {
	seen := map[string]string{}
	for i := range runs {
		r := &runs[i]
		spec := sharedSpec(r)
		if first, ok := seen[r.Cell]; ok && first != spec {
			return true
		}
		seen[r.Cell] = spec
	}
	return false
}

// sharedSpec is a run's spec without what may differ inside one block.
func sharedSpec(r *Run) string {
	var kept bytes.Buffer
	for _, f := range specFields(r.Spec) {
		if !idleField(r, f.name) {
			kept.WriteString(f.name + "=" + string(f.value) + "\n")
		}
	}
	return kept.String()
}

// A specField is one parameter and its JSON.
type specField struct {
	name  string
	value json.RawMessage
}

// specFields returns the fields of a spec in their order, those of an object in it
// after its name; none where it is not an object.
func specFields(spec json.RawMessage) []specField {
	dec := json.NewDecoder(bytes.NewReader(spec))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var fields []specField
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return fields
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fields
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return fields
		}
		if within := specFields(compact.Bytes()); within != nil {
			for _, f := range within {
				fields = append(fields, specField{name.(string) + " " + f.name, f.value})
			}
			continue
		}
		fields = append(fields, specField{name.(string), compact.Bytes()})
	}
	return fields
}

// leadingNumber is the size of a table that a cell is named for, 0 without one.
func leadingNumber(name string) int64 {
	digits := name[:len(name)-len(strings.TrimLeft(name, "0123456789"))]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
