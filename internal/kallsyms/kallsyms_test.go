package kallsyms

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fibchurn/internal/netnstest"
)

const file = `ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000000 T startup
ffffffff81000100 t resize.isra.0
ffffffff81000200 t resize.cold
ffffffff81000300 W weak
ffffffff81000300 t __other
ffffffff81000300 T the_other
ffffffff81000380 d table
ffffffff81000400 t $x
ffffffff81000400 t update_suffix.part.0.constprop.0
ffffffff81001000 T _etext
ffffffffc0000000 t fib6_add	[ipv6]
ffffffffc0001000 t bpf_prog_6deef7357e7b4530_lookup	[bpf]
`

func TestName(t *testing.T) {
	table, err := parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[uint64]string{
		0:                  "",
		0xffffffff80ffffff: "",
		0xffffffff81000000: "startup",
		0xffffffff810000ff: "startup",
		0xffffffff81000100: "resize",
		0xffffffff8100020f: "resize",
		0xffffffff81000390: "the_other", // not weak, nor with underscores; data is nothing
		0xffffffff81000400: "update_suffix",
		0xffffffffc0000010: "fib6_add",
		0xffffffffffffffff: "bpf_prog_6deef7357e7b4530_lookup",
	} {
		if got := table.Name(address); got != want {
			t.Errorf("%x: %q, want %q", address, got, want)
		}
	}
	if got := table.Symbols("resize"); !slices.Equal(got, []string{"resize.isra.0"}) {
		t.Errorf("resize is %q", got)
	}
	if got := table.Symbols("weak"); !slices.Equal(got, []string{"weak"}) {
		t.Errorf("an alias is %q", got)
	}
	if !table.Fixed(0xffffffff81000400) || table.Fixed(0xffffffff81001000) || table.Fixed(0xffffffffc0000000) {
		t.Error("modules are taken for the kernel, or the kernel for a module")
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "no functions",
		"ffffffff81000380 d table\n":         "no functions",
		"ffffffff81000000 T\n":               "is no symbol",
		"x T f\n":                            "the address",
		"1234567890abcdef0 T f\n":            "the address",
		"ffffffff81000000 TT f\n":            "is no symbol",
		"0000000000000000 T a\n0 t b\n0 D c": "shows this user no addresses",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := parse([]byte("0 T a\n")); !errors.Is(err, ErrHidden) {
		t.Error(err)
	}
}

// What a compiler appends goes, however much it is.
func TestPlain(t *testing.T) {
	for symbol, want := range map[string]string{
		"resize": "resize", "resize.isra.0": "resize", "a.part.0.cold": "a", "f.llvm.123": "f", ".L1": ".L1", "": "",
	} {
		if got := Plain(symbol); got != want {
			t.Errorf("%q: %q, want %q", symbol, got, want)
		}
	}
}

// The running kernel's file is read whole where it is shown.
func TestRead(t *testing.T) {
	netnstest.Root(t)
	table, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Symbols("fib_table_insert")) != 1 || len(table.starts) < 1000 {
		t.Errorf("%d functions, fib_table_insert is %q", len(table.starts), table.Symbols("fib_table_insert"))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file), uint64(0xffffffff81000123))
	f.Add([]byte("0000000000000000 T a\n"), uint64(0))
	f.Add([]byte("1 T a.b\n1 t __a\n2 W \xff [m]\n"), uint64(1))
	f.Fuzz(func(t *testing.T, text []byte, address uint64) {
		table, err := parse(text)
		if err != nil {
			return
		}
		if !slices.IsSorted(table.starts) || len(table.starts) != len(table.names) || len(table.starts) == 0 {
			t.Fatalf("%x, %q", table.starts, table.names)
		}
		if name := table.Name(address); (name == "") != (address < table.starts[0]) {
			t.Errorf("%x is %q, the first function starts at %x", address, name, table.starts[0])
		}
	})
}
