package results

import "slices"

// Held reports whether the run says that all its checks held, and none that it lists
// says otherwise.
func (r *Run) Held() bool {
	return r.Verified && !slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK() })
}

// FailedChecks counts the checks that did not hold. It is 1 at least where not all Held.
func (r *Run) FailedChecks() int {
	n := 0
	for _, c := range r.Checks {
		if !c.OK() {
			n++
		}
	}
	if !r.Verified {
		return max(1, n)
	}
	return n
}
