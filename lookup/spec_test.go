package lookup

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSpecRoundTrip(t *testing.T) {
	s := DefaultSpec()
	s.Probes, s.Src, s.Dst, s.Rate = []string{"netlink"}, "10.0.0.1", "20.0.0.0/8", 5000
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got Spec
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSpecValidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Spec)
		want   string // "" is valid
	}{
		"default":            {func(s *Spec) {}, ""},
		"unknown probe":      {func(s *Spec) { s.Probes = []string{"ping"} }, "--probe ping: must be"},
		"probe twice":        {func(s *Spec) { s.Probes = []string{"bpf", "bpf"} }, "--probe bpf: given twice"},
		"family":             {func(s *Spec) { s.Family = 5 }, "family 5"},
		"direction":          {func(s *Spec) { s.Direction = "up" }, "--direction up"},
		"connect input":      {func(s *Spec) { s.Direction, s.Probes = Input, []string{"connect"} }, "--probe connect"},
		"fibmatch bpf":       {func(s *Spec) { s.FIBMatch, s.Probes = true, []string{"bpf"} }, "--fibmatch"},
		"rp_filter 3":        {func(s *Spec) { s.RPFilter = 3 }, "--rp-filter 3"},
		"rp_filter output":   {func(s *Spec) { s.RPFilter = 1 }, "--rp-filter: is for"},
		"rp_filter input":    {func(s *Spec) { s.RPFilter, s.Direction, s.IIF, s.Src = 1, Input, 3, "20.0.0.1" }, ""},
		"rp_filter IPv6":     {func(s *Spec) { s.RPFilter, s.Direction, s.IIF, s.Family = 1, Input, 3, 6 }, "--rp-filter: is for"},
		"input without iif":  {func(s *Spec) { s.Direction = Input }, "--direction input: needs --iif"},
		"input without src":  {func(s *Spec) { s.Direction, s.IIF = Input, 3 }, "netlink needs --src"},
		"input by bpf":       {func(s *Spec) { s.Direction, s.IIF, s.Probes = Input, 3, []string{"bpf"} }, ""},
		"iif output":         {func(s *Spec) { s.IIF = 3 }, "--iif"},
		"oif input":          {func(s *Spec) { s.Direction, s.IIF, s.OIF, s.Src = Input, 3, 3, "20.0.0.1" }, "--oif"},
		"direct netlink":     {func(s *Spec) { s.Direct = true }, "--direct"},
		"direct bpf":         {func(s *Spec) { s.Direct, s.Table, s.Probes = true, 100, []string{"bpf"} }, ""},
		"table not direct":   {func(s *Spec) { s.Table, s.Probes = 100, []string{"bpf"} }, "--table 100"},
		"direct with mark":   {func(s *Spec) { s.Direct, s.Mark, s.Probes = true, 1, []string{"bpf"} }, "--mark"},
		"src":                {func(s *Spec) { s.Src = "10.0.0" }, "--src 10.0.0:"},
		"src family":         {func(s *Spec) { s.Src = "2001:db8::1" }, "--src 2001:db8::1"},
		"dst":                {func(s *Spec) { s.Dst = "20.0.0.0/40" }, "--dst 20.0.0.0/40"},
		"dst family":         {func(s *Spec) { s.Dst = "2001:db8::1" }, "is not IPv4"},
		"dst loopback":       {func(s *Spec) { s.Dst = "127.0.0.1" }, "must be unicast"},
		"dst mapped":         {func(s *Spec) { s.Dst = "::ffff:20.0.0.1" }, "is not IPv4"},
		"keys":               {func(s *Spec) { s.Keys = "all" }, "--keys all"},
		"order":              {func(s *Spec) { s.Order = "up" }, "--order up"},
		"no keys":            {func(s *Spec) { s.KeyCount = 0 }, "--key-count 0"},
		"many keys":          {func(s *Spec) { s.KeyCount = MaxKeys + 1 }, "--key-count"},
		"no readers":         {func(s *Spec) { s.Readers = 0 }, "--readers 0"},
		"negative rate":      {func(s *Spec) { s.Rate = -1 }, "--rate -1"},
		"rate below readers": {func(s *Spec) { s.Rate, s.Readers = 1, 2 }, "at least 1 for each"},
		"batch":              {func(s *Spec) { s.KernelBatch = 0 }, "--kernel-batch 0"},
		"batch 48":           {func(s *Spec) { s.KernelBatch = 48 }, "power of two"},
	} {
		s := DefaultSpec()
		test.change(&s)
		err := s.Validate()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestKinds(t *testing.T) {
	s := DefaultSpec()
	want := []kind{{"netlink", "netlink", 1, true}, {"bpf", "bpf", 1, false}, {"bpf/64", "bpf", 64, false}}
	if diff := cmp.Diff(want, s.kinds(), cmp.AllowUnexported(kind{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.Probes, s.Rate = []string{"bpf"}, 100
	want = []kind{{"bpf", "bpf", 1, true}}
	if diff := cmp.Diff(want, s.kinds(), cmp.AllowUnexported(kind{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
