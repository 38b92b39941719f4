package prefixes

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func FuzzReadText(f *testing.F) {
	fuzzRead(f, "list.txt", "route-ipv4.txt", "route-ipv6.txt", "route-all-oneline.txt")
}

func FuzzReadJSON(f *testing.F) { fuzzRead(f, "route-ipv4.json", "route-ipv6.json") }

func FuzzReadRouteSave(f *testing.F) {
	fuzzRead(f, "route-ipv4.save", "route-ipv4-all.save", "route-ipv6-all.save")
}

func FuzzReadMRT(f *testing.F) {
	fuzzRead(f, "rib-v1.mrt", "rib-v2-openbgpd.mrt", "rib-v2-quagga.mrt")
}

func FuzzReadPacked(f *testing.F) {
	fuzzRead(f, "list-gz", "list.txt.bz2", "route-ipv4.save.gz", "rib-v2-openbgpd.mrt.bz2")
}

// Whatever a file holds, it gives a proper set or an error of one line.
func fuzzRead(f *testing.F, seeds ...string) {
	for _, name := range seeds {
		f.Add([]byte(golden(f, name)), true)
		f.Add([]byte(golden(f, name)), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, six bool) {
		family := IPv4
		if six {
			family = IPv6
		}
		got, err := read(bytes.NewReader(content), "file", family, 1<<20)
		if err != nil {
			var at *FileError
			if !errors.As(err, &at) || strings.ContainsAny(err.Error(), "\n\r\x00") {
				t.Fatalf("error %q", err)
			}
			return
		}
		if got.Set.Len() == 0 || got.Set.Family() != family {
			t.Fatalf("%d prefixes of %s", got.Set.Len(), got.Set.Family())
		}
		if got.Set.distinct() != got.Set {
			t.Fatal("a prefix is there twice")
		}
		for _, p := range got.Set.All() {
			if !p.IsValid() || p != p.Masked() || p.Addr().Is4() != (family == IPv4) {
				t.Fatalf("prefix %s", p)
			}
		}
	})
}
