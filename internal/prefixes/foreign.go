package prefixes

import (
	"bytes"
	"errors"
	"fmt"
)

// byteOrderMark is what some editors begin a text in UTF-8 with.
const byteOrderMark = "\ufeff"

// foreign is about what begins with the mark of a format that is not read, nil where it
// does not.
func foreign(head []byte) error {
	for _, f := range []struct{ magic, name string }{
		{"\xfd7zXZ\x00", "xz"},
		{"\x28\xb5\x2f\xfd", "zstd"},
		{"\x04\x22\x4d\x18", "lz4"},
		{"LZIP", "lzip"},
		{"PK\x03\x04", "zip"},
		{"7z\xbc\xaf\x27\x1c", "7-Zip"},
		{"\x1f\x9d", "compress"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return fmt.Errorf("is compressed with %s, which is not read; decompress it first", f.name)
		}
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return errors.New("is in UTF-16, which is not read; convert it to UTF-8 first")
	}
	return nil
}
