package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// makeIn executes make at the top of the tree, building into a directory of its own.
func makeIn(t *testing.T, build string, args ...string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-C", "../..", "BUILD=" + build}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") })
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func outputOf(t *testing.T, argv ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(tool(t, argv[0]), argv[1:]...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, out, &stderr)
	}
	return string(out)
}

// installedFiles lists files below a directory with their modes, without the
// documents.
func installedFiles(t *testing.T, root string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path, root+"/var/lib/dpkg") || strings.Contains(path, "/docs/") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			found = append(found, fmt.Sprintf("%o %s", info.Mode().Perm(), strings.TrimPrefix(path, root)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sameFiles(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func documentsIn(t *testing.T, dir string) {
	t.Helper()
	for _, document := range documents(t)[1:] {
		if _, err := os.Stat(filepath.Join(dir, "docs", filepath.Base(document))); err != nil {
			t.Error(err)
		}
	}
	linksHold(t, dir)
}

// make install puts every file where its reader looks, whatever the umask, and
// make uninstall takes every one away.
func TestInstall(t *testing.T) {
	t.Parallel()
	build, root := t.TempDir(), t.TempDir()
	makeIn(t, build, "install", "DESTDIR="+root, "PREFIX=/opt/fib")
	sameFiles(t, installedFiles(t, root),
		"755 /opt/fib/bin/fibchurn",
		"644 /opt/fib/share/bash-completion/completions/fibchurn",
		"644 /opt/fib/share/doc/fibchurn/LICENSE",
		"644 /opt/fib/share/doc/fibchurn/README.md",
		"644 /opt/fib/share/fish/vendor_completions.d/fibchurn.fish",
		"644 /opt/fib/share/man/man1/fibchurn.1",
		"644 /opt/fib/share/zsh/site-functions/_fibchurn",
	)
	documentsIn(t, root+"/opt/fib/share/doc/fibchurn")
	makeIn(t, build, "uninstall", "DESTDIR="+root, "PREFIX=/opt/fib")
	sameFiles(t, installedFiles(t, root))
	if _, err := os.Stat(root + "/opt/fib/share/doc/fibchurn"); err == nil {
		t.Error("uninstall leaves the documents")
	}
}

// The packages are made twice, come out the same, install into a scratch root, and
// go away again.
func TestPackages(t *testing.T) {
	t.Parallel()
	build, again, root := t.TempDir(), t.TempDir(), t.TempDir()
	makeIn(t, build, "packages", "VERSION=v1.2.3-4-gabcdef0")
	makeIn(t, again, "packages", "VERSION=v1.2.3-4-gabcdef0")
	for _, pattern := range []string{"*.deb", "*.rpm"} {
		if digest(t, build, pattern) != digest(t, again, pattern) {
			t.Errorf("two builds of %s differ", pattern)
		}
	}
	deb, rpm := onlyFile(t, build, "*.deb"), onlyFile(t, build, "*.rpm")
	if got := outputOf(t, "dpkg-deb", "-f", deb, "Version"); got != "1.2.3+4.gabcdef0\n" {
		t.Errorf("version %s", got)
	}
	for line := range strings.Lines(outputOf(t, "dpkg-deb", "-c", deb)) {
		if !strings.Contains(line, " root/root ") {
			t.Errorf("not root's: %s", line)
		}
	}

	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(root+"/var/lib/dpkg/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, root+"/var/lib/dpkg/status", "")
	outputOf(t, "dpkg", "--root="+root, "--log=/dev/null", "--force-not-root", "-i", deb)
	want := []string{
		"755 /usr/bin/fibchurn",
		"644 /usr/share/bash-completion/completions/fibchurn",
		"644 /usr/share/doc/fibchurn/README.md",
		"644 /usr/share/doc/fibchurn/copyright",
		"644 /usr/share/fish/vendor_completions.d/fibchurn.fish",
		"644 /usr/share/man/man1/fibchurn.1.gz",
		"644 /usr/share/zsh/vendor-completions/_fibchurn",
	}
	sameFiles(t, installedFiles(t, root), want...)
	documentsIn(t, root+"/usr/share/doc/fibchurn")
	if got := outputOf(t, "dpkg", "--root="+root, "-V", "fibchurn"); got != "" {
		t.Errorf("dpkg -V: %s", got)
	}
	if got := outputOf(t, root+"/usr/bin/fibchurn", "--version"); !strings.Contains(got, "v1.2.3-4-gabcdef0") {
		t.Errorf("--version: %s", got)
	}
	if got := outputOf(t, "mandoc", "-Tlint", "-Wwarning", root+"/usr/share/man/man1/fibchurn.1.gz"); got != "" {
		t.Errorf("mandoc: %s", got)
	}
	outputOf(t, "dpkg", "--root="+root, "--log=/dev/null", "--force-not-root", "-P", "fibchurn")
	sameFiles(t, installedFiles(t, root))

	files := outputOf(t, "rpm", "-qpl", rpm)
	for _, f := range append(want, "644 /usr/share/licenses/fibchurn/LICENSE") {
		_, name, _ := strings.Cut(f, " ")
		name = strings.Replace(name, "vendor-completions", "site-functions", 1)
		if !strings.Contains(files, name+"\n") && !strings.HasSuffix(name, "/copyright") {
			t.Errorf("the .rpm has no %s", name)
		}
	}
	if got := outputOf(t, "rpm", "-K", "--nosignature", rpm); !strings.Contains(got, "digests OK") {
		t.Errorf("rpm -K: %s", got)
	}
}

func onlyFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func digest(t *testing.T, dir, pattern string) [32]byte {
	t.Helper()
	content, err := os.ReadFile(onlyFile(t, dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(content)
}

// make dist packs the sources of the last commit under one directory.
func TestDist(t *testing.T) {
	t.Parallel()
	build := t.TempDir()
	makeIn(t, build, "dist", "VERSION=v1.2.3")
	list := outputOf(t, "tar", "-tzf", filepath.Join(build, "fibchurn-1.2.3.tar.gz"))
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "fibchurn-1.2.3/") {
			t.Fatalf("outside of its directory: %s", line)
		}
	}
	if !regexp.MustCompile(`(?m)^fibchurn-1\.2\.3/cmd/fibchurn/main\.go$`).MatchString(list) {
		t.Error("no sources in it")
	}
}
