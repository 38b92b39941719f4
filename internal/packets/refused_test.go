package packets

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"fibchurn/ns"
)

// What this kernel or user cannot do is a reason to skip; what this package does
// wrong is not.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		skip bool
	}{
		{unix.EPERM, true}, {fmt.Errorf("load: %w", unix.EACCES), true}, {unix.ENOSYS, true}, {ebpf.ErrNotSupported, true}, {unix.Errno(524), true},
		{fmt.Errorf("load: %w", &ebpf.VerifierError{Cause: unix.EACCES}), false}, {unix.EINVAL, false}, {unix.ENOMEM, false},
	} {
		var unsupported *ns.UnsupportedError
		if got := refused(injecting, c.err); errors.As(got, &unsupported) != c.skip || !c.skip && got != c.err {
			t.Errorf("%v became %v, want skip %v", c.err, got, c.skip)
		}
	}
}
