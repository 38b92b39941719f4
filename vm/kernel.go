package vm

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Kind is how a kernel image is booted.
type Kind int

const (
	BzImage Kind = iota + 1 // x86 boot image, by QEMU
	PVH                     // x86-64 vmlinux with a PVH entry point, by QEMU
	UML                     // User-Mode Linux program, by itself
)

func (k Kind) String() string {
	switch k {
	case BzImage:
		return "bzImage"
	case PVH:
		return "vmlinux"
	case UML:
		return "User-Mode Linux"
	}
	return "unknown"
}

// A Kernel is a kernel image that can be booted.
type Kernel struct {
	Path    string
	Label   string // how records and messages call it
	Kind    Kind
	Release string // uname -r; empty where the image does not say
}

// An ImageError is a file that cannot be booted: no kernel at all, one cut short,
// or of a kind that is not supported.
type ImageError struct {
	Path string
	Why  string
	Err  error // nil where the file could be read
}

func (e *ImageError) Error() string { return fmt.Sprintf("kernel %s: %s", e.Path, e.Why) }
func (e *ImageError) Unwrap() error { return e.Err }

// Identify finds out from the file itself what kernel it is. The label is the path
// where it is empty. The error is an *ImageError.
func Identify(path, label string) (Kernel, error) {
	if label == "" {
		label = path
	}
	k := Kernel{Path: path, Label: label}
	f, size, err := openImage(path)
	if err != nil {
		return k, err
	}
	defer f.Close()
	var head [4]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return k, &ImageError{Path: path, Why: "no kernel: too short"}
	}
	identify := identifyBzImage
	if string(head[:]) == "\x7fELF" {
		identify = identifyELF
	}
	kind, release, why := identify(f, size)
	if why != "" {
		return k, &ImageError{Path: path, Why: why}
	}
	k.Kind, k.Release = kind, release
	if kind == UML && unix.Access(path, unix.X_OK) != nil {
		return k, &ImageError{Path: path, Why: "a User-Mode Linux program that this user may not execute"}
	}
	if runtime.GOARCH != "amd64" {
		return k, &ImageError{Path: path, Why: "an x86-64 kernel, which needs a fibchurn built for x86-64"}
	}
	return k, nil
}

func openImage(path string) (*os.File, int64, error) {
	// A pipe would block the opening; Stat first.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, &ImageError{Path: path, Why: reason(err), Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &ImageError{Path: path, Why: "no kernel: not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, &ImageError{Path: path, Why: reason(err), Err: err}
	}
	return f, info.Size(), nil
}
