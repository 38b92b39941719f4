package prefixes

import (
	"fmt"
	"net/netip"
)

// Of is the set of the given prefixes in their order. It is an error where one is
// not canonical or not of the family; that they are distinct is the caller's to
// see to.
func Of(f Family, list []netip.Prefix) (*Set, error) {
	if err := f.valid(); err != nil {
		return nil, err
	}
	s := newSet(f, len(list))
	for _, p := range list {
		if !p.IsValid() || p.Masked() != p || p.Addr().BitLen() != f.Bits() {
			return nil, fmt.Errorf("%s is no canonical %s prefix", p, f)
		}
		s.appendPrefix(p)
	}
	return s, nil
}
