// Package foreign knows files that are no text in UTF-8 by how they begin.
package foreign

import "bytes"

// Kind says of a file that begins so what it is, as "compressed with xz" or "in UTF-16";
// it is "" where nothing is known.
func Kind(head []byte) string {
	for _, f := range []struct{ magic, kind string }{
		{"\x1f\x8b", "compressed with gzip"},
		{"BZh", "compressed with bzip2"},
		{"\xfd7zXZ\x00", "compressed with xz"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd"},
		{"\x04\x22\x4d\x18", "compressed with lz4"},
		{"LZIP", "compressed with lzip"},
		{"PK\x03\x04", "compressed with zip"},
		{"7z\xbc\xaf\x27\x1c", "compressed with 7-Zip"},
		{"\x1f\x9d", "compressed with compress"},
		{"\xff\xfe", UTF16}, {"\xfe\xff", UTF16},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.kind
		}
	}
	return ""
}

// UTF16 is the kind of text that is in UTF-16.
const UTF16 = "in UTF-16"
