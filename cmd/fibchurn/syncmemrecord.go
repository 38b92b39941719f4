package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fibchurn/internal/machine"
)

// syncMemRecordFile says what fib_sync_mem was before fibchurn changed it, for as long
// as it is changed: where the watchdog and its parent are killed together, nothing else
// knows. /run is root's alone, and goes with the boot as the sysctl does.
const syncMemRecordFile = "/run/fibchurn.fib_sync_mem"

// A syncMemRecord is a change of fib_sync_mem.
type syncMemRecord struct {
	Boot   string `json:"boot"`             // the sysctl starts anew with the next
	PID    int    `json:"pid"`              // of the fibchurn that measures
	Set    int    `json:"set"`              // bytes
	Before int    `json:"before,omitempty"` // bytes; 0 is not known yet
}

// toPutBack is the command that does it by hand.
func (r syncMemRecord) toPutBack() string {
	return fmt.Sprintf("sysctl -w net.ipv4.fib_sync_mem=%d", r.Before)
}

// write leaves a record, which must not be there yet.
func (r syncMemRecord) write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	err = json.NewEncoder(f).Encode(r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// readSyncMemRecord reads what write has left. A record that was not written to its
// end is the zero one: its writer had not changed the sysctl yet. What others than
// root could have written is an error.
func readSyncMemRecord(path string) (r syncMemRecord, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return r, fmt.Errorf("%s is a symbolic link, and not fibchurn's", path)
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return r, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0 {
		return r, fmt.Errorf("%s is no file that root alone writes, and not fibchurn's", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return r, err
	}
	if json.Unmarshal(text, &r) != nil {
		return syncMemRecord{}, nil
	}
	return r, nil
}

// left reports whether the sysctl, at now, is as the record's fibchurn set it.
func (r syncMemRecord) left(now int) bool {
	return r.Boot == machine.Boot() && r.Before > 0 && r.Before != r.Set && now == r.Set
}

// clearSyncMemRecord puts back what a killed fibchurn has left and removes its record.
// It takes the lock. earlier is nil where there was nothing to put back.
func clearSyncMemRecord(path string) (earlier *syncMemRecord, err error) {
	r, err := readSyncMemRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now, err := readSyncMem()
	if err != nil {
		return nil, err
	}
	if r.left(now) {
		if err := writeSyncMem(r.Before); err != nil {
			return nil, err
		}
		earlier = &r
	}
	return earlier, os.Remove(path)
}

// drop removes a record if it is of this change.
func (r syncMemRecord) drop(path string) error {
	if found, err := readSyncMemRecord(path); err != nil || found != r {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // the watchdog was quicker
}

// leftSyncMem is what doctor says of a fib_sync_mem that a killed fibchurn has left;
// most often nothing.
func leftSyncMem(path string) []machine.Capability {
	c := machine.Capability{Name: "net.ipv4.fib_sync_mem as it was", NeededFor: "figures of this machine's own settings"}
	r, err := readSyncMemRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.Status, c.Detail, c.HowTo = machine.Unknown, err.Error(), "see to that file, and remove it"
		return []machine.Capability{c}
	}
	now, err := readSyncMem()
	if err != nil || !r.left(now) || syncMemLocked() && !errors.Is(unix.Kill(r.PID, 0), unix.ESRCH) {
		return nil // nothing is left, or it is in use
	}
	c.Status = machine.Missing
	c.Detail = fmt.Sprintf("fibchurn (process %d) was killed and left it at %d; before it was %d", r.PID, r.Set, r.Before)
	c.HowTo = r.toPutBack() + " as root; the next fibchurn with --sync-mem puts it back too"
	return []machine.Capability{c}
}

func readSyncMem() (int, error) {
	text, err := os.ReadFile(syncMemFile)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// writeSyncMem sets the sysctl and sees to it that it is set.
func writeSyncMem(bytes int) error {
	if err := os.WriteFile(syncMemFile, []byte(strconv.Itoa(bytes)), 0); err != nil {
		return err
	}
	now, err := readSyncMem()
	if err == nil && now != bytes {
		err = fmt.Errorf("%s is %d after %d was written to it", syncMemFile, now, bytes)
	}
	return err
}
