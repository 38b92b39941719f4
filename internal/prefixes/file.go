package prefixes

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"fibchurn/internal/foreign"
)

// byteOrderMark is what some editors begin a text in UTF-8 with.
const byteOrderMark = "\ufeff"

// A FileContent is what a prefix file held.
type FileContent struct {
	// Set has the distinct prefixes of the family asked for, in file order.
	Set *Set
	// Format is one of the Format constants.
	Format string
	// Compression is "", "gzip" or "bzip2".
	Compression string

	Duplicates  int // prefixes left out since they came before
	OtherFamily int // prefixes of the other family
	// NotUnicast counts routes left out since they are not for a unicast table:
	// local, broadcast, anycast and multicast routes, multicast and link-local
	// destinations, and entries of a kernel's route cache.
	NotUnicast int
}

// The formats [ReadFile] tells apart.
const (
	FormatList      = "list"          // one prefix a line
	FormatRoute     = "ip route"      // what ip route show prints
	FormatRouteJSON = "ip -j route"   // and its JSON
	FormatRouteSave = "ip route save" // raw netlink messages
	FormatMRT       = "MRT"           // RFC 6396 TABLE_DUMP or TABLE_DUMP_V2
)

// A FileError says where a prefix file cannot be used, and why. Its text is one
// line.
type FileError struct {
	Path string
	// Line is the line of a text, from 1; 0 where the place is not a line.
	Line int
	// Offset is a byte offset into the content, decompressed, from 0; -1 where the
	// place is a line or the file as a whole.
	Offset int64
	// Decompressed says that Line and Offset are of the decompressed content.
	Decompressed bool
	Err          error
}

// Error begins with path:line, or with the path and the byte offset.
func (e *FileError) Error() string {
	of := ""
	if e.Decompressed {
		of = " of the decompressed content"
	}
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
	case e.Offset >= 0:
		return fmt.Sprintf("%s: at byte %d%s: %v", e.Path, e.Offset, of, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// Limits of what is read. They keep memory and time bounded whatever a file
// claims or unpacks to; a full Internet RIB dump of hundreds of peers has some
// 4 GB.
const (
	maxContent  = 16 << 30 // bytes, decompressed
	maxPrefixes = 1 << 24  // of the family asked for, duplicates included
	maxLine     = 64 << 10 // bytes of a text line
	maxRecord   = 16 << 20 // bytes of an MRT record, a netlink message or a JSON route
)

// ReadFile reads the prefixes of one family from a file: a plain list, what "ip
// route show", "ip -j route" or "ip route save" wrote, or an MRT RIB dump; each
// as it is, or packed with gzip or bzip2. Format and compression are found from
// the content; the name does not matter.
//
//   - A list has one prefix or address (a host route) a line; blank lines and what
//     follows a # are ignored.
//   - A default route is 0.0.0.0/0 or ::/0. One whose family nothing tells (no
//     next hop, no preference) is IPv4.
//   - Routes of the types blackhole, unreachable, prohibit and throw are taken as
//     prefixes; FileContent.NotUnicast has what is not.
//   - A prefix with bits set behind its length is an error, as it is to the kernel,
//     except in MRT, where those bits mean nothing (RFC 4271, section 4.3).
//   - Prefixes of the other family are left out and counted.
//
// Every error about the file is a [*FileError], also that there is no prefix of
// the family.
func ReadFile(path string, f Family) (*FileContent, error) {
	if err := f.valid(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // no waiting for a FIFO's writer
	if err != nil {
		return nil, &FileError{Path: path, Offset: -1, Err: withoutPath(err)}
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &FileError{Path: path, Offset: -1, Err: errNotRegular}
	}
	return read(file, path, f, maxContent)
}

// errNotRegular is about pipes and devices. A command reads its prefix file more
// than once: for each family, and again in a user namespace.
var errNotRegular = errors.New("is not a regular file; a pipe or device cannot be read twice, so write it to a file first")

// withoutPath is err without what *os.PathError says about the file.
func withoutPath(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return fmt.Errorf("%s: %w", pathError.Op, pathError.Err)
	}
	return err
}

func read(r io.Reader, path string, f Family, limit int64) (*FileContent, error) {
	c := &collector{content: &FileContent{}, set: newSet(f, 0)}
	err := c.read(r, limit)
	if err == nil {
		err = c.finish()
	}
	if err != nil {
		var at *FileError
		if !errors.As(err, &at) {
			at = &FileError{Offset: -1, Err: withoutPath(err)}
		}
		at.Path, at.Decompressed = path, c.content.Compression != ""
		return nil, at
	}
	return c.content, nil
}

func (c *collector) read(r io.Reader, limit int64) error {
	buffered := bufio.NewReaderSize(r, maxLine)
	unpacked, compression, err := unpack(buffered)
	c.content.Compression = compression
	if err != nil {
		return offsetError(0, err)
	}
	tooMuch := fmt.Errorf("has more content than the %d bytes that are read of a prefix file", limit)
	content := bufio.NewReaderSize(&limitedReader{unpacked, limit, tooMuch}, maxLine)
	head, err := content.Peek(512)
	if err != nil && err != io.EOF {
		return offsetError(int64(len(head)), err)
	}
	if len(head) == 0 {
		return errors.New("is empty")
	}
	return c.parse(content, head)
}

func (c *collector) parse(content *bufio.Reader, head []byte) error {
	if order := routeSaveOrder(head); order != nil {
		c.content.Format = FormatRouteSave
		return c.readRouteSave(content, order)
	}
	switch kind := foreign.Kind(head); {
	case compressionOf(head) != "":
		return errors.New("is compressed twice")
	case kind == foreign.UTF16:
		return errors.New("is in UTF-16, which is not read; convert it to UTF-8 first")
	case kind != "":
		return fmt.Errorf("is %s, which is not read; decompress it first", kind)
	}
	marked := bytes.HasPrefix(head, []byte(byteOrderMark))
	if marked {
		content.Discard(len(byteOrderMark)) // it has been peeked at
		head = head[len(byteOrderMark):]
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case isMRT(head):
		c.content.Format = FormatMRT
		return c.readMRT(content)
	case len(text) > 0 && (text[0] == '[' || text[0] == '{'):
		c.content.Format = FormatRouteJSON
		err := c.readJSON(content)
		var at *FileError
		if marked && errors.As(err, &at) {
			at.Offset += int64(len(byteOrderMark))
		}
		return err
	}
	c.content.Format = FormatList
	return c.readText(content)
}

func compressionOf(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "gzip"
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2"
	}
	return ""
}

func unpack(r *bufio.Reader) (io.Reader, string, error) {
	head, err := r.Peek(3)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	switch compression := compressionOf(head); compression {
	case "gzip":
		zip, err := gzip.NewReader(r)
		return zip, compression, err
	case "bzip2":
		return bzip2.NewReader(r), compression, nil
	}
	return r, "", nil
}

// A limitedReader fails, rather than ends, behind the limit.
type limitedReader struct {
	r    io.Reader
	left int64
	err  error
}

func (l *limitedReader) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, l.err
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

func lineError(line int, err error) error {
	return &FileError{Line: line, Offset: -1, Err: plain(err)}
}

func offsetError(offset int64, err error) error {
	return &FileError{Offset: offset, Err: plain(err)}
}

// ErrCutOff is the Err of a [FileError] for a file that ends too early.
var ErrCutOff = errors.New("the file is cut off")

// plain says in words that a file ends too early.
func plain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCutOff
	}
	return withoutPath(err)
}

// A collector takes the prefixes that a parser finds.
type collector struct {
	content *FileContent
	set     *Set
}

// add takes one route. unicast says that its type is one that a table may hold.
func (c *collector) add(p netip.Prefix, unicast bool) error {
	if p != p.Masked() {
		return fmt.Errorf("%s has bits set behind its length: %s is meant, or %s", p, p.Masked(), p.Addr())
	}
	if !unicast || p.Addr().IsMulticast() || p.Addr().IsLinkLocalUnicast() && p.Addr().Is6() {
		c.content.NotUnicast++
		return nil
	}
	if p.Addr().Is4() != (c.set.family == IPv4) {
		c.content.OtherFamily++
		return nil
	}
	// Some dumps have a record for every peer: the same prefix, many times.
	if last := c.set.Len() - 1; last >= 0 && c.set.key(last) == keyOf(p.Addr()) && c.set.Bits(last) == p.Bits() {
		c.content.Duplicates++
		return nil
	}
	if c.set.Len() >= maxPrefixes {
		return fmt.Errorf("there are more than %d prefixes", maxPrefixes)
	}
	c.set.appendPrefix(p)
	return nil
}

func (c *collector) finish() error {
	if c.set.Len() == 0 {
		switch other := c.content.OtherFamily; {
		case other > 0:
			return fmt.Errorf("has no %s prefix, but %d of the other family", c.set.family, other)
		case c.content.NotUnicast > 0:
			return fmt.Errorf("has no prefix for a unicast table: all %d routes are local, broadcast, multicast or link-local", c.content.NotUnicast)
		}
		return errors.New("has no prefix")
	}
	before := c.set.Len()
	c.content.Set = c.set.distinct()
	c.content.Duplicates += before - c.content.Set.Len()
	return nil
}
