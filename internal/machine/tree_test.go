package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// files are a fixture tree: contents by path.
type files map[string]string

// fixture writes the files below a directory of the test.
func fixture(t *testing.T, sets ...files) tree {
	t.Helper()
	root := t.TempDir()
	for _, set := range sets {
		for name, content := range set {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tree(root)
}

// withCPUID adds the cpuid driver's file: the answer for the hypervisor's leaf, at
// its offset in a file that is empty otherwise.
func withCPUID(t *testing.T, root tree, signature string) {
	t.Helper()
	path := root.path("dev/cpu/0/cpuid")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	registers := make([]byte, 16)
	copy(registers, "\x01\x00\x00\x40"+signature)
	if _, err := f.WriteAt(registers, cpuidHypervisorLeaf); err != nil {
		t.Fatal(err)
	}
}

func TestTreeText(t *testing.T) {
	root := fixture(t, files{"a": " linux,kvm\x00", "b": "\n"})
	for name, want := range map[string]string{"a": "linux,kvm", "b": "", "missing": ""} {
		if got := root.text(name); got != want {
			t.Errorf("text(%q) = %q, want %q", name, got, want)
		}
	}
}
