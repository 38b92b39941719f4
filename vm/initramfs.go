package vm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cavaliergopher/cpio"
	"golang.org/x/sys/unix"
)

// buildInitramfs writes the guest's file system into an anonymous file in memory.
// It is not compressed: the kernel copies 15 MB faster than it unpacks them, by far
// so where it is interpreted, and any kernel can.
func buildInitramfs(k Kernel, m Machine, s *spec, modules []module) (*os.File, error) {
	fd, err := unix.MemfdCreate("fibchurn-initramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make the initramfs: %w", err)
	}
	file := os.NewFile(uintptr(fd), "initramfs")
	out := bufio.NewWriterSize(file, 1<<20)
	a := &archive{w: cpio.NewWriter(out), dirs: map[string]bool{}}
	for _, dir := range []string{"dev", "proc", "sys", "tmp", "boot", guestModules} {
		a.dir(dir)
	}
	a.copy(m.Program, guestInit, 0o755)
	for i, m := range modules {
		name := fmt.Sprintf("%03d-%s.ko", i, m.name)
		a.add(guestModules+"/"+name, cpio.TypeReg|0o644, m.content)
		s.Modules = append(s.Modules, specModule{File: name, Params: m.params})
	}
	if config := kernelConfig(k); config != nil {
		a.add("boot/config-"+k.Release, cpio.TypeReg|0o644, config)
	}
	a.files(m.Files, s)
	a.spec(s)
	if err := a.close(out); err != nil {
		file.Close()
		return nil, fmt.Errorf("make the initramfs: %w", err)
	}
	return file, nil
}

// An archive is a cpio archive in the making; the first error stays.
type archive struct {
	w     *cpio.Writer
	inode int64
	dirs  map[string]bool
	err   error
}

func (a *archive) header(name string, mode cpio.FileMode, size int64) {
	if a.err == nil {
		a.inode++ // equal inodes with links would be hard links
		a.err = a.w.WriteHeader(&cpio.Header{Name: name, Mode: mode, Size: size, Inode: a.inode, Links: 1})
	}
}

func (a *archive) add(name string, mode cpio.FileMode, content []byte) {
	a.header(name, mode, int64(len(content)))
	if a.err == nil && len(content) > 0 {
		_, a.err = a.w.Write(content)
	}
}

// dir makes a directory and those above it, once each.
func (a *archive) dir(name string) {
	if name == "." || a.dirs[name] {
		return
	}
	a.dir(filepath.Dir(name))
	a.dirs[name] = true
	a.add(name, cpio.TypeDir|0o755, nil)
}

// copy copies a file of the host.
func (a *archive) copy(path, name string, mode cpio.FileMode) {
	if a.err != nil {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		a.err = err
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		a.err = err
		return
	}
	a.header(name, cpio.TypeReg|mode, info.Size())
	if a.err == nil {
		_, a.err = io.CopyN(a.w, f, info.Size())
	}
}

// files copies those that the command reads, and makes the working directory.
func (a *archive) files(paths []string, s *spec) {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/" // removed meanwhile: relative paths mean nothing anyway
	}
	inside := func(path string) string { return strings.TrimPrefix(filepath.Clean(path), "/") }
	s.Dir = dir
	if dir != "/" {
		a.dir(inside(dir))
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		a.dir(filepath.Dir(inside(path)))
		a.copy(path, inside(path), 0o644)
	}
}

func (a *archive) spec(s *spec) {
	content, err := json.Marshal(s)
	if err != nil {
		a.err = err
		return
	}
	a.add(guestSpec, cpio.TypeReg|0o644, content)
}

func (a *archive) close(out *bufio.Writer) error {
	if a.err == nil {
		a.err = a.w.Close()
	}
	if a.err == nil {
		a.err = out.Flush()
	}
	return a.err
}

// kernelConfig is the configuration that lies beside the image, or nil: with it the
// guest knows which debug options are in force.
func kernelConfig(k Kernel) []byte {
	if k.Release == "" {
		return nil
	}
	dir := filepath.Dir(k.Path)
	for _, name := range []string{"config-" + k.Release, ".config", "../../../.config"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return content
		}
	}
	return nil
}
