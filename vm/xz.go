package vm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
)

// xzDictionaryLimit bounds the dictionary of a module in bytes; xz -9 uses as much, the
// kernel's build far less (scripts/Makefile.modinst).
const xzDictionaryLimit = 64 << 20

// newXZReader opens an xz file (The .xz File Format 1.2.1, chapters 2.1 and 3.1). The
// reader allocates the dictionary as a whole, and its size is the file's own word: 29
// bytes can ask for 4 GiB. Blocks after the first are not looked at.
func newXZReader(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	const streamHeader = 12
	head, err := in.Peek(streamHeader + 1)
	if err == nil && head[streamHeader] != 0 { // else the index of a file without a block
		size := 4 * (int(head[streamHeader]) + 1)
		if head, err = in.Peek(streamHeader + size); err == nil {
			err = checkXZBlock(head[streamHeader+1:])
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return xz.NewReader(in) // knows what is wrong with a file cut short
}

// checkXZBlock checks the dictionaries of a block header, from its flags on.
func checkXZBlock(header []byte) error {
	flags, rest := header[0], header[1:]
	number := func() (n uint64) {
		n, used := binary.Uvarint(rest)
		rest = rest[max(0, used):]
		return n
	}
	for _, size := range []byte{0x40, 0x80} { // compressed, uncompressed
		if flags&size != 0 {
			number()
		}
	}
	for range flags&0x03 + 1 {
		id, properties := number(), number()
		if properties > uint64(len(rest)) {
			return errors.New("xz: a filter without its properties")
		}
		const lzma2 = 0x21
		if id == lzma2 && properties == 1 {
			if bits := rest[0] & 0x3f; bits > 40 || xzDictionary(bits) > xzDictionaryLimit {
				return fmt.Errorf("xz: a dictionary of more than %d bytes", xzDictionaryLimit)
			}
		}
		rest = rest[properties:]
	}
	return nil
}

// xzDictionary is the size in bytes that a number of 0 to 40 stands for (5.3.1).
func xzDictionary(bits byte) uint64 {
	if bits == 40 {
		return 1<<32 - 1
	}
	return (2 | uint64(bits)&1) << (bits/2 + 11)
}
