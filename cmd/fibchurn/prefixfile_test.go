package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/prefixes"
)

// The digest is of what a file holds, not of its name or format.
func TestPrefixesDigest(t *testing.T) {
	dir := t.TempDir()
	digest := func(text string, families ...int) string {
		path := filepath.Join(dir, "file")
		writeFile(t, path, text)
		files, err := readPrefixes(path, families)
		if err != nil {
			t.Fatal(err)
		}
		return prefixesDigest(families, files)
	}
	list := digest("10.0.0.0/8\n10.1.0.0/16\n2001:db8::/32\n", 4)
	if len(list) != 32 {
		t.Errorf("digest %q", list)
	}
	for name, same := range map[string]string{
		"comment and duplicate": "# a comment\n10.0.0.0/8\n10.1.0.0/16\n10.0.0.0/8\n",
		"ip route":              "10.0.0.0/8 via 192.0.2.1 dev eth0\n10.1.0.0/16 dev eth0 scope link\n",
	} {
		if got := digest(same, 4); got != list {
			t.Errorf("%s: %s, want %s", name, got, list)
		}
	}
	for name, other := range map[string]string{
		"another length": "10.0.0.0/8\n10.1.0.0/17\n", "another order": "10.1.0.0/16\n10.0.0.0/8\n", "fewer": "10.0.0.0/8\n",
	} {
		if got := digest(other, 4); got == list {
			t.Errorf("%s: the same", name)
		}
	}
	if digest("10.0.0.0/8\n2001:db8::/32\n", 4, 6) == digest("10.0.0.0/8\n2001:db9::/32\n", 4, 6) {
		t.Error("another IPv6 prefix: the same")
	}
	s, err := prefixes.Generate(prefixes.Dense, prefixes.IPv4, 10, 1)
	if err != nil || prefixesDigest([]int{4}, map[int]*prefixes.Set{4: s}) == "" {
		t.Error(err)
	}
}

// Every command that takes --prefixes records the digest.
func TestPrefixesDigestIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	writeFile(t, path, "10.0.0.0/8\n10.1.0.0/16\n10.2.0.0/16\n10.3.0.0/16\n")
	for _, command := range []string{"routes", "nexthops --paths 1", "flap --duration 100ms --flap-batch 1 --rate 100", "lookup --duration 50ms --probe netlink"} {
		args := append(strings.Fields(command), "--prefixes", path, "--runs", "1", "--warmup", "0", "-j")
		code, stdout, stderr := execute(t, false, args...)
		if code != 0 {
			t.Errorf("%s: exit %d, %s", command, code, stderr)
		}
		for _, r := range readRuns(t, stdout) {
			if !strings.Contains(string(r.Spec), `"prefixes_sha256":"`) {
				t.Errorf("%s: %s", command, r.Spec)
			}
		}
	}
}

// A FIFO that nobody is at the other end of is refused, not waited for.
func TestFIFOs(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"routes", "--prefixes", fifo}, {"lookup", "--prefixes", fifo}, {"delete-iface", "--as", "empty", "--runs", "1", "-o", fifo},
	} {
		timer := time.AfterFunc(20*time.Second, func() { panic("it hangs") })
		code, stdout, stderr := execute(t, false, args...)
		timer.Stop()
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "FIFO that nobody reads") && !strings.Contains(stderr, "not a regular file") {
			t.Errorf("%v: exit %d, stdout %s, stderr %s", args, code, stdout, stderr)
		}
	}
	// With a reader it is a file like others, and so is standard output.
	for _, file := range []string{fifo, "/dev/stdout", "/dev/null"} {
		fd, err := syscall.Open(fifo, syscall.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		code, _, stderr := execute(t, false, "delete-iface", "--as", "empty", "--runs", "1", "--warmup", "0", "-o", file)
		syscall.Close(fd)
		if code != 0 {
			t.Errorf("-o %s: exit %d, %s", file, code, stderr)
		}
	}
}
