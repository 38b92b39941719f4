package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
	"fibchurn/vm"
)

func (p *program) vm() *cli.Command {
	boots := count(1)
	return &cli.Command{
		Name:      "vm",
		Usage:     "execute a fibchurn command in throwaway kernels",
		ArgsUsage: "-- COMMAND [ARGUMENTS]",
		Description: "Boots every kernel, as often as --boots says and in turn, with this program as its only\n" +
			"process, and takes the runs that COMMAND measures there: an x86-64 bzImage under QEMU, with\n" +
			"KVM where that is to be had, or a User-Mode Linux program. Needs no root.\n\n" +
			"--cpus, --memory, --append, --sysctl and --modules hold for all kernels, or, as LABEL:VALUE,\n" +
			"for one. The same image may be given twice, with two labels. Several kernels end in a\n" +
			"comparison with the first.",
		Flags: slices.Concat([]cli.Flag{
			&cli.GenericFlag{Name: "kernel", Value: &texts{}, Usage: "kernel `PATH[=LABEL]` (repeatable)"},
			&cli.GenericFlag{Name: "boots", Value: &boots, Usage: "boots of every kernel"},
			&cli.GenericFlag{Name: "cpus", Value: &texts{}, Usage: "CPUs (default: 2, and 1 for User-Mode Linux)"},
			&cli.GenericFlag{Name: "memory", Value: &texts{}, Usage: "memory in `MIB` (default: 1024)"},
			&cli.GenericFlag{Name: "append", Value: &texts{}, Usage: "kernel `PARAMETERS` (repeatable)"},
			&cli.GenericFlag{Name: "sysctl", Value: &texts{}, Usage: "`NAME=VALUE`, set before the command starts (repeatable)"},
			&cli.GenericFlag{Name: "modules", Value: &texts{}, Usage: "`DIR` of the kernel's modules (default: beside the image, then the system's)"},
			&cli.StringFlag{Name: "accel", Value: "auto", Usage: "auto, kvm or tcg: how QEMU runs a guest"},
			&cli.DurationFlag{Name: "timeout", Usage: "how long one boot may take, from start to end (default: 10m)"},
			&cli.StringFlag{Name: "console", Usage: "write all consoles to `FILE`"},
		}, compareFlags(), measureFlagsNamed("output", "json", "format", "quiet", "color", "profile-out")),
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		HideHelpCommand:        true,
		Action: func(c *cli.Context) error {
			s, err := vmSessionOf(c)
			if err != nil {
				return err
			}
			if err := p.keepApart(s.outputs(), s.inputs()); err != nil {
				return err
			}
			return p.concluded(s.measure, p.bootAll(s))
		},
	}
}

func measureFlagsNamed(names ...string) (found []cli.Flag) {
	for _, f := range measureFlags() {
		if slices.Contains(names, f.Names()[0]) {
			found = append(found, f)
		}
	}
	return found
}

// A vmSession holds the values of vm's flags.
type vmSession struct {
	kernels  []vm.Kernel
	machines map[string]vm.Machine // by label
	boots    int
	console  string
	command  []string // for the guest
	files    []string // that the command reads
	measure  *measure
	compare  results.CompareOptions
	said     map[string]bool // what guests have said
}

func vmSessionOf(c *cli.Context) (*vmSession, error) {
	m, err := measureOf(c)
	if err != nil {
		return nil, err
	}
	s := &vmSession{
		boots: int(*c.Generic("boots").(*count)), console: c.String("console"), command: c.Args().Slice(),
		measure: m, machines: map[string]vm.Machine{}, said: map[string]bool{},
	}
	for _, name := range []string{"runs", "warmup", "seed", "4", "6", "profile", "profile-hz", "profile-scope", "trace-resize"} {
		if at(c, name) != c {
			return nil, usageErrorf("--%s is for the command in the guest; give it after the --", name)
		}
	}
	const most = 10_000
	if s.boots < 1 || s.boots > most {
		return nil, usageErrorf("--boots %d: must be 1 to %d", s.boots, most)
	}
	if s.files, err = guestCommand(s.command); err != nil {
		return nil, err
	}
	if s.compare, err = compareOptions(c); err != nil {
		return nil, err
	}
	if s.compare.FailAbove != nil && m.format.Name != results.FormatText {
		return nil, usageErrorf("--fail-above: takes the comparison, which --format %s does not make; fibchurn compare makes it of the runs", m.format.Name)
	}
	s.compare.By = "label"
	if err := s.identify(*c.Generic("kernel").(*texts)); err != nil {
		return nil, err
	}
	if err := s.configure(c); err != nil {
		return nil, err
	}
	return s, s.checkRest(c)
}

// identify looks at the images.
func (s *vmSession) identify(kernels texts) error {
	if len(kernels) == 0 {
		return usageErrorf("vm: no kernel; give --kernel PATH, a bzImage or a User-Mode Linux program")
	}
	for _, text := range kernels {
		path, label := text, ""
		if _, err := os.Stat(text); err != nil { // a path may have a "=" in it
			if i := strings.LastIndex(text, "="); i >= 0 {
				path, label = text[:i], text[i+1:]
			}
		}
		k, err := vm.Identify(path, label)
		if err != nil {
			return usageErrorf("--kernel: %v", err)
		}
		if strings.Contains(label, ":") {
			return usageErrorf("--kernel: label %q: must be without a colon", label)
		}
		if _, twice := s.machines[k.Label]; twice {
			return usageErrorf("--kernel: two kernels are called %s; give each a label of its own, as PATH=LABEL", k.Label)
		}
		s.kernels, s.machines[k.Label] = append(s.kernels, k), vm.Machine{}
	}
	return nil
}

// configure fills in the machines.
func (s *vmSession) configure(c *cli.Context) error {
	timeout, accel := c.Duration("timeout"), c.String("accel")
	switch {
	case c.IsSet("timeout") && timeout < time.Second:
		return usageErrorf("--timeout %v: must be 1s at least", timeout)
	case !slices.Contains([]string{"auto", vm.AccelKVM, vm.AccelTCG}, accel):
		return usageErrorf("--accel %s: must be auto, kvm or tcg", accel)
	}
	for _, setting := range s.settings() {
		for _, text := range *c.Generic(setting.flag).(*texts) {
			if err := s.set(setting, text); err != nil {
				return usageErrorf("--%s %s: %v", setting.flag, text, err)
			}
		}
	}
	for label, m := range s.machines {
		m.Timeout, m.Files = timeout, s.files
		if accel != "auto" {
			m.Accel = accel
		}
		s.machines[label] = m
	}
	return nil
}

// A setting is a flag that holds for all kernels or for one.
type setting struct {
	flag  string
	apply func(*vm.Machine, string) error
}

func (s *vmSession) settings() []setting {
	number := func(field func(*vm.Machine) *int) func(*vm.Machine, string) error {
		return func(m *vm.Machine, text string) (err error) {
			if *field(m), err = strconv.Atoi(text); err != nil || *field(m) < 1 {
				return usageErrorf("must be a number above 0")
			}
			return nil
		}
	}
	return []setting{
		{"cpus", number(func(m *vm.Machine) *int { return &m.CPUs })},
		{"memory", number(func(m *vm.Machine) *int { return &m.MemoryMiB })},
		{"append", func(m *vm.Machine, text string) error {
			m.Append = append(slices.Clone(m.Append), strings.Fields(text)...)
			return nil
		}},
		{"sysctl", func(m *vm.Machine, text string) error {
			sysctl, err := vm.ParseSysctl(text)
			m.Sysctls = append(slices.Clone(m.Sysctls), sysctl)
			return err
		}},
		{"modules", func(m *vm.Machine, text string) error {
			m.Modules = text
			_, err := os.Stat(text)
			return err
		}},
	}
}

// set applies "VALUE" to all kernels and "LABEL:VALUE" to one.
func (s *vmSession) set(setting setting, text string) error {
	label, value, scoped := strings.Cut(text, ":")
	if _, known := s.machines[label]; !scoped || !known {
		label, value = "", text
	}
	for _, k := range s.kernels {
		if label != "" && label != k.Label {
			continue
		}
		m := s.machines[k.Label]
		if err := setting.apply(&m, value); err != nil {
			return err
		}
		s.machines[k.Label] = m
	}
	return nil
}

// openConsole opens the file for the consoles, or returns nil.
func (s *vmSession) openConsole() (*os.File, error) {
	if s.console == "" {
		return nil, nil
	}
	var f *os.File
	err := withReader(s.console, func() (err error) {
		f, err = os.Create(s.console)
		return err
	})
	if err != nil {
		return nil, usageErrorf("--console: %v", err)
	}
	return f, nil
}

// texts is a flag that may be repeated. Commas do not part its values.
type texts []string

// Set appends; it makes *texts a flag.Value.
func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

func (t *texts) String() string { return strings.Join(*t, " ") }
