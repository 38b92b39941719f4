package prefixes

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	const (
		routes4 = "0.0.0.0/0 10.0.0.0/8 10.1.0.0/16 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.7/32"
		routes6 = "2001:db8:1::/64 2001:db8:2::/48 2001:db8:3::3/128 2001:db8:4::/48 ::/0"
		list4   = "192.0.2.0/24 10.0.0.0/8 198.51.100.7/32 0.0.0.0/0"
		list6   = "2001:db8::/32 2001:db8::1/128"
	)
	for _, c := range []struct {
		name        string
		family      Family
		format      string
		compression string
		// duplicates, of the other family, not unicast
		counts [3]int
		want   string
	}{
		{"list.txt", IPv4, FormatList, "", [3]int{2, 2, 1}, list4},
		{"list.txt", IPv6, FormatList, "", [3]int{0, 6, 1}, list6},
		{"list-gz", IPv4, FormatList, "gzip", [3]int{2, 2, 1}, list4},
		{"list.txt.bz2", IPv6, FormatList, "bzip2", [3]int{0, 6, 1}, list6},
		{"route-ipv4.txt", IPv4, FormatRoute, "", [3]int{}, routes4},
		{"route-ipv6.txt", IPv6, FormatRoute, "", [3]int{0, 0, 1}, routes6},
		{"route-all-oneline.txt", IPv4, FormatRoute, "", [3]int{0, 5, 10}, routes4},
		{"route-ipv6-all-details.txt", IPv6, FormatRoute, "", [3]int{0, 0, 5}, routes6},
		{"route-ipv4.json", IPv4, FormatRouteJSON, "", [3]int{}, routes4},
		{"route-ipv6.json", IPv6, FormatRouteJSON, "", [3]int{0, 0, 1}, routes6},
		{"route-ipv4.save", IPv4, FormatRouteSave, "", [3]int{}, routes4},
		{"route-ipv4.save.gz", IPv4, FormatRouteSave, "gzip", [3]int{}, routes4},
		{"route-ipv4-all.save", IPv6, FormatRouteSave, "", [3]int{0, 7, 10}, routes6},
		{"route-ipv6-all.save", IPv6, FormatRouteSave, "", [3]int{0, 0, 5}, routes6},
		{"rib-v1.mrt", IPv4, FormatMRT, "", [3]int{1, 1, 0}, "192.0.2.0/24 198.51.100.0/22"},
		{"rib-v1.mrt", IPv6, FormatMRT, "", [3]int{0, 3, 0}, "2001:db8::/32"},
	} {
		t.Run(c.name+" "+c.family.String(), func(t *testing.T) {
			got, err := ReadFile(filepath.Join("testdata", c.name), c.family)
			if err != nil {
				t.Fatal(err)
			}
			if text(got.Set) != c.want {
				t.Errorf("prefixes %s, want %s", text(got.Set), c.want)
			}
			if got.Format != c.format || got.Compression != c.compression {
				t.Errorf("format %q, compression %q", got.Format, got.Compression)
			}
			if counts := [3]int{got.Duplicates, got.OtherFamily, got.NotUnicast}; counts != c.counts {
				t.Errorf("duplicates, other family, not unicast: %d, want %d", counts, c.counts)
			}
		})
	}
}

// A byte-order mark is no part of the first prefix, nor of what the format is told by.
func TestReadFileByteOrderMark(t *testing.T) {
	for content, format := range map[string]string{"10.0.0.0/8\n192.0.2.0/24\n": FormatList, `[{"dst":"10.0.0.0/8"},{"dst":"192.0.2.0/24"}]`: FormatRouteJSON} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(byteOrderMark+content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path, IPv4)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if text(got.Set) != "10.0.0.0/8 192.0.2.0/24" || got.Format != format {
			t.Errorf("prefixes %s, format %s", text(got.Set), got.Format)
		}
	}
}

// Dumps of two routing daemons, first and last prefix.
func TestReadFileMRT(t *testing.T) {
	for _, c := range []struct {
		name        string
		family      Family
		count       int
		first, last string
	}{
		{"rib-v2-openbgpd.mrt", IPv4, 11, "192.168.0.0/16", "192.168.6.0/24"},
		{"rib-v2-openbgpd.mrt.bz2", IPv6, 10, "2001:db8::/64", "2001:db8:0:6::/64"},
		{"rib-v2-quagga.mrt", IPv4, 3, "172.17.0.0/24", "172.17.2.0/24"},
		{"rib-v2-quagga.mrt.gz", IPv6, 3, "fd01:1::/64", "fd01:1:2::/64"},
	} {
		got, err := ReadFile(filepath.Join("testdata", c.name), c.family)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		s := got.Set
		if last := s.Len() - 1; s.Len() != c.count || s.At(0).String() != c.first || s.At(last).String() != c.last {
			t.Errorf("%s %s: %d prefixes, %s to %s, want %d, %s to %s; %+v", c.name, c.family, s.Len(), s.At(0), s.At(last), c.count, c.first, c.last, got)
		}
	}
}

func TestReadFileErrors(t *testing.T) {
	save := golden(t, "route-ipv4.save")
	rib := golden(t, "rib-v2-quagga.mrt")
	list := golden(t, "list.txt")
	for _, c := range []struct {
		name    string
		content string
		family  Family
		want    string // after the path
	}{
		{"empty", "", IPv4, ": is empty"},
		{"only comments", "# nothing\n\n", IPv4, ": has no prefix"},
		{"other family", "10.0.0.0/8\n10.1.0.0/16\n", IPv6, ": has no IPv6 prefix, but 2 of the other family"},
		{"only local", "local 127.0.0.1 dev lo\n", IPv4, ": has no prefix for a unicast table: all 1 routes are local, broadcast, multicast or link-local"},
		{"host bits", "10.0.0.0/8\n10.0.0.1/8\n", IPv4, ":2: 10.0.0.1/8 has bits set behind its length: 10.0.0.0/8 is meant, or 10.0.0.1"},
		{"no prefix", "10.0.0.0/8\n\nhello\n", IPv4, `:3: "hello" is neither a prefix nor an address`},
		{"too long a prefix", "10.0.0.0/33\n", IPv4, `:1: "10.0.0.0/33" is neither`},
		{"zone", "fe80::1%eth0\n", IPv6, ":1: a destination cannot have a zone"},
		{"second word", "10.0.0.0/8 AS65000\n", IPv4, `:1: "AS65000" after "10.0.0.0/8" is nothing that ip route shows`},
		{"program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", IPv4, `:1: "\x7fELF`},
		{"long line", strings.Repeat("1", 100_000), IPv4, ":1: is longer than 65536 bytes"},
		{"JSON object", `{"dst":"10.0.0.0/8"}`, IPv4, ": at byte 1: an array of routes was expected"},
		{"JSON cut off", `[{"dst":"10.0.0.0/8"},`, IPv4, ": at byte 22: the file is cut off"},
		{"JSON cut off in a route", `[{"dst":"10.0`, IPv4, ": at byte 1: the file is cut off"},
		{"JSON host bits", `[{"dst":"10.0.0.1/8"}]`, IPv4, ": at byte 1: 10.0.0.1/8 has bits set"},
		{"JSON without dst", `[{"a":1}]`, IPv4, ": at byte 1: a route has no dst"},
		{"JSON of another kind", `[1]`, IPv4, ": at byte 2: json: cannot unmarshal number"},
		{"JSON route type", `[{"type":"x","dst":"10.0.0.0/8"}]`, IPv4, `: at byte 1: "x" is no route type`},
		{"save cut off", save[:len(save)-7], IPv4, ": at byte 352: the file is cut off"},
		{"save length", save[:4] + "\x03\x00\x00\x00" + save[8:], IPv4, ": at byte 4: a netlink message cannot be 3 bytes long"},
		{"save length claimed", save[:4] + "\xff\xff\xff\x7f" + save[8:], IPv4, ": at byte 4: a netlink message cannot be 2147483647 bytes long"},
		{"save message type", save[:8] + "\x10" + save[9:], IPv4, ": at byte 4: message type 16 is not that of a route (24)"},
		{"save of another machine", save[:20] + "\x07" + save[21:], IPv4, ": at byte 4: a route is of address family 7"},
		{"MRT cut off", rib[:len(rib)-1], IPv4, ": at byte 860: the file is cut off"},
		{"MRT length claimed", rib[:8] + "\xff\xff\xff\xff" + rib[12:], IPv4, ": at byte 0: an MRT record of 4294967295 bytes"},
		{"MRT updates", rib[:5] + "\x10" + rib[6:], IPv4, ": at byte 0: holds BGP updates"},
		{"MRT OSPF", rib[:5] + "\x0b" + rib[6:], IPv4, ": at byte 0: MRT type 11 is not a RIB dump"},
		{"gzip cut off", packed(list)[:60], IPv4, ": at byte "},
		{"gzip header only", "\x1f\x8b\x08", IPv4, ": at byte 0 of the decompressed content: the file is cut off"},
		{"gzip twice", packed(packed(list)), IPv4, ": is compressed twice"},
		{"gzip with line", packed("10.0.0.0/8\nx\n"), IPv4, `:2: "x"`},
		{"xz", "\xfd7zXZ\x00\x00\x04", IPv4, ": is compressed with xz, which is not read; decompress it first"},
		{"zstd", "\x28\xb5\x2f\xfd\x24\x0b", IPv4, ": is compressed with zstd, which is not read; decompress it first"},
		{"xz in gzip", packed("\xfd7zXZ\x00\x00\x04"), IPv4, ": is compressed with xz, which is not read; decompress it first"},
		{"lz4", "\x04\x22\x4d\x18\x64", IPv4, ": is compressed with lz4"},
		{"zip", "PK\x03\x04\x14", IPv4, ": is compressed with zip"},
		{"UTF-16", "\xff\xfe1\x000\x00", IPv4, ": is in UTF-16, which is not read; convert it to UTF-8 first"},
		{"byte-order mark, then nothing", "\ufeff", IPv4, ": has no prefix"},
		{"byte-order mark and a bad line", "\ufeff10.0.0.0/8\nx\n", IPv4, `:2: "x"`},
		{"byte-order mark and JSON", "\ufeff" + `[{"dst":"10.0.0.1/8"}]`, IPv4, ": at byte 4: 10.0.0.1/8 has bits set"},
		{"bzip2 damaged", "BZh91AY&SX" + strings.Repeat("x", 50), IPv4, ": at byte 0 of the decompressed content: bzip2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := ReadFile(path, c.family)
			var at *FileError
			if !errors.As(err, &at) || at.Path != path {
				t.Fatalf("%v is no FileError of the file", err)
			}
			got := strings.TrimPrefix(err.Error(), path)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q is not one line", err)
			}
		})
	}
}

func TestReadFileUnreadable(t *testing.T) {
	for path, want := range map[string]string{
		"testdata/nothing": "testdata/nothing: open: no such file or directory",
		"testdata":         "testdata: at byte 0: read: is a directory",
	} {
		if _, err := ReadFile(path, IPv4); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	bomb := packed(strings.Repeat("\n", 1<<20))
	_, err := read(strings.NewReader(bomb), "bomb", IPv4, 1<<16)
	if err == nil || !strings.Contains(err.Error(), "has more content than the 65536 bytes") {
		t.Errorf("%v", err)
	}
	route := `[{"dst":"10.0.0.0/8","x":"` + strings.Repeat("x", maxRecord+1<<20) + `"}]`
	_, err = read(strings.NewReader(route), "route", IPv4, maxContent)
	if err == nil || !strings.Contains(err.Error(), "a route is longer than 16777216 bytes") {
		t.Errorf("%v", err)
	}
}

// A dump of a machine of the other byte order, and two dumps in one file.
func TestReadRouteSaveByteOrder(t *testing.T) {
	one := func(order binary.AppendByteOrder, third byte) []byte {
		b := order.AppendUint32(nil, routeSaveMagic)
		b = order.AppendUint32(b, 36)
		b = order.AppendUint16(b, 24)
		b = append(b, make([]byte, 10)...)
		b = append(b, 2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0)
		b = order.AppendUint16(b, 8)
		b = order.AppendUint16(b, 1)
		return append(b, 192, 0, third, 0)
	}
	for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
		got, err := read(bytes.NewReader(append(one(order, 2), one(order, 3)...)), "dump", IPv4, maxContent)
		if err != nil || text(got.Set) != "192.0.2.0/24 192.0.3.0/24" {
			t.Errorf("%v: %v, %v", order, got, err)
		}
	}
}

func TestReadTextDefaults(t *testing.T) {
	for line, want := range map[string]string{
		"default":                               "0.0.0.0/0",
		"default via 192.0.2.1 dev eth0":        "0.0.0.0/0",
		"default via inet6 fe80::1 dev eth0":    "0.0.0.0/0",
		"default via fe80::1 dev eth0":          "::/0",
		"default dev eth0 metric 1 pref medium": "::/0",
		"unreachable default dev lo pref low":   "::/0",
		"::/0":                                  "::/0",
	} {
		f := IPv4
		if want == "::/0" {
			f = IPv6
		}
		got, err := read(strings.NewReader(line+"\r\n"), "list", f, maxContent)
		if err != nil || text(got.Set) != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestReadSnapshot(t *testing.T) {
	for _, f := range []Family{IPv4, IPv6} {
		got, err := ReadFile(snapshotPath(t), f)
		if err != nil {
			t.Fatal(err)
		}
		if want := snapshot(t, f); !equal(got.Set.ascending(), want) || got.Duplicates != 0 {
			t.Errorf("%s: %d prefixes, %d duplicates, want %d", f, got.Set.Len(), got.Duplicates, want.Len())
		}
	}
}

func golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func packed(s string) string {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	zip.Write([]byte(s))
	zip.Close()
	return b.String()
}
