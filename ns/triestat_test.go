package ns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fibchurn/results"
)

func TestParseTrieStats(t *testing.T) {
	counted := results.Trie{
		Name: "main", AverageDepth: 1.66, MaxDepth: 2, Leaves: 24576, Prefixes: 24576, Tnodes: 8193,
		TnodesByBits: map[int]int64{1: 8192, 15: 1}, Pointers: 49152, NullPointers: 16384, SizeKB: 3201,
		Counters: &results.TrieCounters{Gets: 24576, SemanticMatchPassed: 24576},
	}
	countedLocal := counted
	countedLocal.Name = "local"
	leaf := func(name string) results.Trie {
		return results.Trie{Name: name, Leaves: 1, Prefixes: 1, TnodesByBits: map[int]int64{}, SizeKB: 1}
	}
	local := results.Trie{
		Name: "local", AverageDepth: 2.40, MaxDepth: 3, Leaves: 5, Prefixes: 5, Tnodes: 4,
		TnodesByBits: map[int]int64{1: 1, 2: 3}, Pointers: 14, NullPointers: 6, SizeKB: 1,
	}
	for _, test := range []struct {
		file string
		want []results.Trie
	}{
		{"linux-6.12-8192-addresses-counters.txt", []results.Trie{counted, countedLocal}},
		{"linux-6.18-8192-routes-no-counters.txt", []results.Trie{{
			Name: "main", AverageDepth: 1, MaxDepth: 1, Leaves: 8192, Prefixes: 8192, Tnodes: 1,
			TnodesByBits: map[int]int64{14: 1}, Pointers: 16384, NullPointers: 8192, SizeKB: 961,
		}}},
		{"linux-6.18-empty.txt", []results.Trie{}},
		{"linux-6.18-unmerged-three-tables.txt", []results.Trie{leaf("100"), leaf("main"), local}},
		{"linux-6.18-dfz-200k.txt", []results.Trie{leaf("100"), {
			Name: "main", AverageDepth: 3.38, MaxDepth: 8, Leaves: 187514, Prefixes: 200001, Tnodes: 34435,
			TnodesByBits: map[int]int64{1: 8, 2: 21120, 3: 7149, 4: 3120, 5: 1711, 6: 760, 7: 463, 8: 60, 9: 30, 10: 7, 11: 5, 12: 2},
			Pointers:     410584, NullPointers: 188636, SizeKB: 24281,
		}, local}},
	} {
		t.Run(test.file, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseTrieStats(b)
			if err != nil {
				t.Fatal(err)
			}
			want := &results.TrieStats{LeafBytes: 48, TnodeBytes: 40, Tables: test.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseTrieStatsRefuses(t *testing.T) {
	const basic = "Basic info: size of leaf: 48 bytes, size of tnode: 40 bytes.\n"
	for name, text := range map[string]string{
		"empty":                "",
		"no basic line":        "Main:\n\tMax depth: 1\n",
		"garbled sizes":        "Basic info: size of leaf: x bytes, size of tnode: 40 bytes.\n",
		"figure of no table":   basic + "\tMax depth: 1\n",
		"word for a figure":    basic + "Main:\n\tLeaves: many\n",
		"odd tnodes by size":   basic + "Main:\n\tInternal nodes: 3\n\t  1: 2  2:\n",
		"letters for a size":   basic + "Main:\n\tInternal nodes: 3\n\t  a: 2\n",
		"counters of no table": basic + "Counters:\n",
	} {
		if got, err := ParseTrieStats([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseRT6Stats(t *testing.T) {
	got, err := ParseRT6Stats([]byte("0009 0006 000a 0007 0001 ff00 0002\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &results.RT6Stats{Nodes: 9, RouteNodes: 6, RouteAllocs: 10, RouteEntries: 7, RouteCache: 1, DstEntries: 0xff00, Discarded: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{"", "0009 0006", "0009 0006 000a 0007 0001 zz00 0002"} {
		if _, err := ParseRT6Stats([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParseTrieStats(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		stats, err := ParseTrieStats([]byte(text))
		if err == nil && !strings.Contains(text, "Basic info") {
			t.Errorf("%q gave %+v", text, stats)
		}
	})
}

func FuzzParseRT6Stats(f *testing.F) {
	f.Add("0009 0006 000a 0007 0000 0000 0000\n")
	f.Fuzz(func(t *testing.T, text string) { _, _ = ParseRT6Stats([]byte(text)) })
}
