package vm

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// moduleLimit bounds a module's uncompressed size in bytes. The largest drivers
// have some 20 MB.
const moduleLimit = 256 << 20

// zstdWindowLimit is the window of zstd -22 --ultra in bytes.
const zstdWindowLimit = 128 << 20

// A decompressor opens one of the compressions that modules come in. The kernel
// could do some of them itself, but not every kernel, so the host does it.
type decompressor struct {
	suffix string
	open   func(io.Reader) (io.Reader, error)
}

func decompressors() []decompressor {
	return []decompressor{
		{"", func(r io.Reader) (io.Reader, error) { return r, nil }},
		{".xz", newXZReader},
		{".zst", func(r io.Reader) (io.Reader, error) {
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowLimit))
		}},
		{".gz", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	}
}

func uncompressedName(file string) string {
	for _, d := range decompressors() {
		if d.suffix != "" {
			file = strings.TrimSuffix(file, d.suffix)
		}
	}
	return file
}

// readModule returns a module's content, whichever way it is compressed; path is
// without a compression's suffix. Where there is none, the error is
// fs.ErrNotExist.
func readModule(path string) ([]byte, error) {
	for _, d := range decompressors() {
		f, err := os.Open(path + d.suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		content, err := decompress(f, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		return content, nil
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

func decompress(r io.Reader, d decompressor) ([]byte, error) {
	in, err := d.open(r)
	if err != nil {
		return nil, err
	}
	if c, ok := in.(*zstd.Decoder); ok {
		defer c.Close()
	}
	content, err := io.ReadAll(io.LimitReader(in, moduleLimit+1))
	if err == nil && len(content) > moduleLimit {
		err = fmt.Errorf("larger than %d bytes", moduleLimit)
	}
	return content, err
}

// moduleInfo returns the values of a module's .modinfo section, such as "depends"
// ("stp,llc") and "vermagic" ("6.1.0 SMP ...").
func moduleInfo(content []byte) (map[string]string, error) {
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".modinfo")
	if section == nil {
		return nil, errors.New("no kernel module: it has no .modinfo")
	}
	text, err := section.Data()
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		if key, value, found := strings.Cut(string(entry), "="); found {
			info[key] = value
		}
	}
	return info, nil
}

// locate is the path of a module's file without a compression's suffix.
func (t *moduleTree) locate(name string) (string, bool) {
	file, found := t.files[name]
	if !found {
		return "", false
	}
	if filepath.IsAbs(file) {
		return file, true
	}
	return filepath.Join(t.dir, file), true
}
