package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/machine"
	"fibchurn/internal/netnstest"
)

func TestSyncMemRecord(t *testing.T) {
	netnstest.Root(t)
	file := filepath.Join(t.TempDir(), "record")
	want := syncMemRecord{Boot: "b", PID: 7, Set: 70000, Before: 80000}
	if _, err := readSyncMemRecord(file); !os.IsNotExist(err) {
		t.Errorf("of no file: %v", err)
	}
	if err := want.drop(file); err != nil {
		t.Errorf("to drop what is not there: %v", err)
	}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	if got, err := readSyncMemRecord(file); got != want || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	other := want
	other.PID++
	if err := other.write(file); !os.IsExist(err) {
		t.Errorf("written over another: %v", err)
	}
	if err := other.drop(file); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(file); err != nil {
		t.Errorf("another's was dropped: %v", err)
	}
	if err := want.drop(file); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}

// What someone else than root may have written is not believed, nor followed, nor
// waited for.
func TestSyncMemRecordOfOthers(t *testing.T) {
	before := keptSyncMem(t)
	const text = `{"boot":"b","pid":7,"set":70000,"before":80000}`
	for name, make := range map[string]func(file string) error{
		"symbolic link": func(file string) error {
			target := file + ".target"
			if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
				return err
			}
			return os.Symlink(target, file)
		},
		"dangling link": func(file string) error { return os.Symlink(file+".none", file) },
		"another owner": func(file string) error {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			return os.Chown(file, 65534, 0)
		},
		"writable": func(file string) error {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			return os.Chmod(file, 0o620)
		},
		"fifo":      func(file string) error { return unix.Mkfifo(file, 0o600) },
		"directory": func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		file := filepath.Join(t.TempDir(), "record")
		if err := make(file); err != nil {
			t.Fatal(err)
		}
		if r, err := readSyncMemRecord(file); err == nil || r != (syncMemRecord{}) {
			t.Errorf("%s: read as %v, %v", name, r, err)
		}
		if err := (syncMemRecord{Set: 1}).write(file); err == nil {
			t.Errorf("%s: written", name)
		}
		ended, end := io.Pipe()
		end.Close()
		if err := keepSyncMem(syncMemRecord{Set: otherThan(before)}, file, ended, func(w watchdogWord) { t.Errorf("%s: said %v", name, w) }); err == nil {
			t.Errorf("%s: the value was changed", name)
		}
		if found := leftSyncMem(file); len(found) != 1 || found[0].Status != machine.Unknown {
			t.Errorf("%s: doctor says %v", name, found)
		}
		if _, err := os.Lstat(file); err != nil {
			t.Errorf("%s: removed: %v", name, err)
		}
	}
}

// A record that does not fit is cleared away, and nothing is put back.
func TestSyncMemRecordThatDoesNotFit(t *testing.T) {
	before := keptSyncMem(t)
	boot := machine.Boot()
	for name, text := range map[string]string{
		"empty":           "",
		"cut short":       fmt.Sprintf(`{"boot":%q,"pid":7,"set":%d,"bef`, boot, before),
		"of another boot": fmt.Sprintf(`{"boot":"x","pid":7,"set":%d,"before":%d}`, before, otherThan(before)),
		"of another set":  fmt.Sprintf(`{"boot":%q,"pid":7,"set":%d,"before":%d}`, boot, otherThan(before), otherThan(before, otherThan(before))),
	} {
		file := filepath.Join(t.TempDir(), "record")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if found := leftSyncMem(file); len(found) != 0 {
			t.Errorf("%s: doctor says %v", name, found)
		}
		if earlier, err := clearSyncMemRecord(file); earlier != nil || err != nil {
			t.Errorf("%s: %v, %v", name, earlier, err)
		}
		if _, err := os.Lstat(file); !os.IsNotExist(err) || syncMem(t) != before {
			t.Errorf("%s: %v, value %d", name, err, syncMem(t))
		}
	}
}

// A child's end is no mistake on the command line, though exec.ExitError has the
// method of the library's errors.
func TestExitCodeOfChild(t *testing.T) {
	err := exec.Command("/proc/self/exe", "-test.run=^$", "-no-such-flag").Run()
	if err == nil {
		t.Fatal("no error")
	}
	if code := exitCode(fmt.Errorf("of a child: %w", err), io.Discard); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if code := exitCode(&syncMemError{fs.ErrPermission}, io.Discard); code != exitFailed {
		t.Errorf("exit %d", code)
	}
}
