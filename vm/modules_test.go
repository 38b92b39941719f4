package vm

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// moduleOf makes a module's file.
func moduleOf(release, depends string) []byte {
	info := "license=GPL\x00depends=" + depends + "\x00vermagic=" + release + " SMP mod_unload \x00"
	return elfOf(elf.EM_X86_64, elfPart{elf.PT_NULL, ".modinfo", []byte(info)})
}

// compressed compresses by the file's suffix.
func compressed(t testing.TB, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch filepath.Ext(name) {
	case ".gz":
		w = gzip.NewWriter(&out)
	case ".xz":
		w, err = xz.NewWriter(&out)
	case ".zst":
		w, err = zstd.NewWriter(&out)
	default:
		return content
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writeTree writes files under a new directory's lib/modules/RELEASE.
func writeTree(t *testing.T, release string, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, "lib/modules", release, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, compressed(t, name, []byte(content)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func names(load []module) (found []string) {
	for _, m := range load {
		found = append(found, m.name)
	}
	return found
}

func TestPlanModules(t *testing.T) {
	const release = "6.1.0-x"
	plain := func(depends string) string { return string(moduleOf(release, depends)) }
	for _, c := range []struct {
		name    string
		files   map[string]string
		load    []string
		missing []string
	}{
		{
			name: "package without modules.dep: by modules.order and what the modules say",
			files: map[string]string{
				"modules.builtin":                   "kernel/net/ipv6/ipv6.ko\nkernel/drivers/net/tun.ko\n",
				"modules.order":                     "kernel/drivers/net/dummy.ko\nkernel/net/802/stp.ko\nkernel/net/llc/llc.ko\nkernel/net/bridge/bridge.ko\nkernel/drivers/net/veth.ko\n",
				"kernel/drivers/net/dummy.ko.xz":    plain(""),
				"kernel/net/802/stp.ko.zst":         plain("llc"),
				"kernel/net/llc/llc.ko.gz":          plain(""),
				"kernel/net/bridge/bridge.ko":       plain("stp,llc"),
				"kernel/drivers/net/never-asked.ko": plain(""),
			},
			load:    []string{"dummy", "llc", "stp", "bridge"},
			missing: []string{"configs", "ifb", "veth", "vrf"}, // veth is listed, but not there
		},
		{
			name: "installed: by modules.dep",
			files: map[string]string{
				"modules.dep":       "kernel/dummy.ko.zst:\nkernel/a-b.ko.zst:\nkernel/vrf.ko.zst: kernel/a-b.ko.zst\n\n",
				"kernel/dummy.ko":   plain("nonsense"),
				"kernel/a-b.ko.zst": plain(""),
				"kernel/vrf.ko.xz":  plain(""),
			},
			load:    []string{"dummy", "a_b", "vrf"},
			missing: []string{"configs", "ipv6", "ifb", "veth", "tun", "bridge"},
		},
		{
			name:    "build tree: objects in modules.order",
			files:   map[string]string{"modules.order": "drivers/net/dummy.o\n", "drivers/net/dummy.ko": plain("")},
			load:    []string{"dummy"},
			missing: []string{"configs", "ipv6", "ifb", "veth", "vrf", "tun", "bridge"},
		},
		{
			name: "a module whose need is missing is missing",
			files: map[string]string{
				"modules.order": "bridge.ko\ndummy.ko\n", "bridge.ko": plain("stp"), "dummy.ko": plain(""),
			},
			load:    []string{"dummy"},
			missing: []string{"configs", "ipv6", "ifb", "veth", "vrf", "tun", "bridge"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := writeTree(t, release, c.files)
			k := Kernel{Path: filepath.Join(root, "boot/vmlinuz"), Release: release}
			if err := os.Mkdir(filepath.Join(root, "boot"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{"", root, filepath.Join(root, "lib/modules"), filepath.Join(root, "lib/modules", release)} {
				p, err := planModules(k, dir)
				if err != nil {
					t.Fatal(err)
				}
				if got := names(p.load); !slices.Equal(got, c.load) {
					t.Errorf("directory %q: loads %v, want %v", dir, got, c.load)
				}
				if !slices.Equal(p.missing, c.missing) {
					t.Errorf("directory %q: missing %v, want %v", dir, p.missing, c.missing)
				}
				for _, m := range p.load {
					if !bytes.HasPrefix(m.content, []byte("\x7fELF")) {
						t.Errorf("%s was not decompressed", m.name)
					}
				}
			}
		})
	}
}

func TestPlanModulesErrors(t *testing.T) {
	const release = "6.1.0-x"
	module := func(depends string) string { return string(moduleOf(release, depends)) }
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"another kernel's", map[string]string{"modules.order": "dummy.ko\n", "dummy.ko": string(moduleOf("6.2.0", ""))}, "a module of kernel 6.2.0"},
		{"a circle", map[string]string{"modules.order": "dummy.ko\na.ko\n", "dummy.ko": module("a"), "a.ko": module("dummy")}, "depends on itself"},
		{"no module", map[string]string{"modules.order": "dummy.ko\n", "dummy.ko": "text"}, "dummy.ko"},
		{"broken modules.dep", map[string]string{"modules.dep": "dummy.ko\n"}, "no colon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := writeTree(t, release, c.files)
			if _, err := planModules(Kernel{Path: "/k", Release: release}, root); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	t.Run("broken compression", func(t *testing.T) {
		root := writeTree(t, release, map[string]string{"modules.order": "dummy.ko\n"})
		if err := os.WriteFile(filepath.Join(root, "lib/modules", release, "dummy.ko.xz"), []byte("nonsense"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := planModules(Kernel{Path: "/k", Release: release}, root); err == nil || !strings.Contains(err.Error(), "dummy.ko.xz") {
			t.Errorf("got %v, want an error with the file", err)
		}
	})
}

func TestModulesNowhere(t *testing.T) {
	k := Kernel{Path: filepath.Join(t.TempDir(), "bzImage"), Release: "9.9.9-none"}
	p, err := planModules(k, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.load) > 0 || !slices.Contains(p.missing, "dummy") || !slices.Contains(p.tried, "/lib/modules/9.9.9-none") {
		t.Errorf("got %+v", p)
	}
	if _, err := planModules(k, t.TempDir()); err == nil || !strings.Contains(err.Error(), "9.9.9-none") {
		t.Errorf("a directory without modules, given: got %v", err)
	}
}

// A build tree beside the image is taken only if it is of that kernel.
func TestModulesOfAnotherBuild(t *testing.T) {
	for built, want := range map[string]bool{"6.1.0-x": true, "6.1.0-y": false} {
		tree := t.TempDir()
		for name, content := range map[string]string{
			"modules.order": "dummy.ko\n", "dummy.ko": string(moduleOf(built, "")), "include/config/kernel.release": built + "\n",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(tree, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		image := filepath.Join(tree, "arch/x86/boot/bzImage")
		if err := os.MkdirAll(filepath.Dir(image), 0o755); err != nil {
			t.Fatal(err)
		}
		p, err := planModules(Kernel{Path: image, Release: "6.1.0-x"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(p.load) == 1; got != want {
			t.Errorf("tree of %s: loads %v", built, names(p.load))
		}
	}
}
