package results

import "encoding/json"

// seedDecides reports whether a run's seed decides what is done and not only in
// which order the cells take turns: which prefixes there are, or in which order
// routes and addresses go. Figures of different seeds are then of different work.
func seedDecides(r *Run) bool {
	var s struct {
		Layout string `json:"layout"`
		Order  string `json:"order"`
		Under  string `json:"under"`
	}
	if json.Unmarshal(r.Spec, &s) != nil {
		return false
	}
	if s.Layout == "dfz" || s.Layout == "random" {
		return true
	}
	nothingGoes := r.Command == "lookup" && s.Under == "none" // the order is that of the churn
	return s.Order == "random" && !nothingGoes
}

// idleField reports whether a field of a run's spec says nothing of its work: the
// seed where it decides nothing else, the load, which is the cell, and the path of a
// file of prefixes, whose contents prefixes_sha256 identifies. The seed of lookups
// always draws the keys.
func idleField(r *Run, name string) bool {
	return name == "load" || name == "prefixes" || name == "seed" && !seedDecides(r)
}
