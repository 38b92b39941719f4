package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fibchurn/results"
)

// An Outcome is what is known of one boot, also where it failed.
type Outcome struct {
	Virtualisation string        // "kvm", "tcg" or "uml": what the kernel ran on, for certain
	Release        string        // uname -r of the guest; empty where it did not come up
	Started        time.Duration // from the start of the machine to the start of the command
	Took           time.Duration // from the start of the machine to its end
	Runs           int           // runs passed on
	Exit           int           // the command's exit code, where it ended
	Missing        []string      // drivers for which neither a module nor a builtin was found
	ModulesTried   []string      // where modules were looked for, if there were none anywhere
}

// poweredOff is how long a machine may take to end after the guest's last message.
const poweredOff = 3 * time.Second

// Boot boots the kernel and executes the command line argv (argv[0] is the program's
// name) in it. It passes every run on as soon as it is whole; an error of emit ends
// the machine and is returned. Every run has the kernel's label and what the kernel
// ran on in its environment. A run while which the kernel reported a defect of its
// own is not verified.
//
// The end of ctx ends the machine at once; the error is then the context's. A guest
// that failed is a *GuestError, what this machine cannot do an *UnsupportedError.
// Nothing is left behind when Boot returns, or when its process ends in any way.
func Boot(ctx context.Context, k Kernel, m Machine, argv []string, emit func(*results.Run) error) (Outcome, error) {
	p, err := prepare(k, m)
	if err != nil {
		return Outcome{}, err
	}
	initramfs, err := buildInitramfs(k, p.machine, &spec{Args: argv, Sysctls: m.Sysctls}, p.modules.load)
	if err != nil {
		return Outcome{}, err
	}
	defer initramfs.Close()
	for {
		b := &boot{kernel: k, machine: p.machine, emit: emit, begun: time.Now(), outcome: Outcome{
			Virtualisation: p.commands[0].virtualisation, Missing: p.modules.missing, ModulesTried: p.modules.tried,
		}}
		err := b.run(ctx, p.commands[0], initramfs)
		b.outcome.Took = time.Since(b.begun)
		why := b.machineFailed(err)
		if why == "" || len(p.commands) == 1 {
			return b.outcome, err
		}
		fmt.Fprintf(p.machine.Stderr, "%s does not work on this machine (%s); trying %s\n",
			p.commands[0].virtualisation, why, p.commands[1].virtualisation)
		p.commands = p.commands[1:]
	}
}

// A prepared is all that a boot needs, found and checked.
type prepared struct {
	machine  Machine
	commands []*commandLine // one at least
	modules  *modulePlan
}

func prepare(k Kernel, m Machine) (p *prepared, err error) {
	p = &prepared{}
	if p.machine, err = m.filled(k); err != nil {
		return nil, err
	}
	if err := checkStatic(p.machine.Program); err != nil {
		return nil, err
	}
	if p.commands, err = commands(k, p.machine); err != nil {
		return nil, err
	}
	if p.modules, err = planModules(k, m.Modules); err != nil {
		return nil, err
	}
	return p, nil
}

// commands are the ways to boot a kernel, of which the next is tried where one fails
// before the kernel's first word.
func commands(k Kernel, m Machine) ([]*commandLine, error) {
	switch k.Kind {
	case UML:
		return []*commandLine{umlCommand(k, m)}, nil
	case BzImage, PVH:
		return qemuCommands(k, m)
	}
	return nil, fmt.Errorf("kernel %s was not identified", k.Path)
}

// A boot is one under way.
type boot struct {
	kernel  Kernel
	machine Machine
	emit    func(*results.Run) error
	begun   time.Time
	outcome Outcome

	words      lastWords
	end        *message // the guest's last, once it came
	fail       *message // why the guest did not start the command
	printed    bool     // the command printed something besides runs
	unassigned []string // complaints that belong to the next run
	complaints []string // all of them
	torn       bool
}

// run takes the machine from its start to its end.
func (b *boot) run(parent context.Context, c *commandLine, initramfs *os.File) error {
	ctx, cancel := context.WithTimeoutCause(parent, b.machine.Timeout, errDeadline)
	defer cancel()
	h, err := start(b.machine.Program, c, initramfs)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, h.kill)()
	b.sayUnconfined(h.unconfined)
	words := watchConsole(h.console, b.machine.Console, h.kill)
	err = b.receive(h.results)
	if err != nil {
		h.kill()
	}
	// Else the guest is about to power off, or its channel ended with the machine,
	// whose last words are on the console.
	select {
	case <-h.ended:
	case <-ctx.Done():
	case <-time.After(poweredOff):
	}
	h.close(words)
	return b.verdict(parent, ctx, h, words, err)
}

// receive reads the channel to its end. Its error is emit's, or that the channel
// cannot be trusted.
func (b *boot) receive(channel io.Reader) error {
	in := newFrameReader(channel)
	for b.end == nil {
		f, err := in.next()
		switch {
		case errors.Is(err, errTorn):
			b.torn = true
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &GuestError{Label: b.kernel.Label, Fault: Garbled, Detail: err.Error()}
		}
		if f.message != nil {
			b.take(f.message)
			continue
		}
		if err := b.pass(f.run); err != nil {
			return err
		}
	}
	return nil
}

// pass labels a run and passes it on.
func (b *boot) pass(run *results.Run) error {
	run.Environment.Label, run.Environment.Virtualisation = b.kernel.Label, b.outcome.Virtualisation
	if n := len(b.unassigned); n > 0 {
		run.Verified = false
		run.Checks = append(run.Checks, results.Check{Name: "kernel log complaints", Want: 0, Got: int64(n)})
		run.Warnings = append(run.Warnings, results.Warning{
			Kind: "kernel-log",
			Text: "The kernel reported a defect of its own during this run: " + strings.Join(b.unassigned, "; ") + ".",
		})
		b.unassigned = nil
	}
	b.outcome.Runs++
	return b.emit(run)
}

// take acts on a message.
func (b *boot) take(m *message) {
	switch m.Guest {
	case messageStart:
		b.outcome.Started, b.outcome.Release = time.Since(b.begun), m.Release
	case messageStdout:
		b.printed = true
		fmt.Fprintln(b.machine.Stdout, m.Text)
	case messageStderr:
		fmt.Fprintln(b.machine.Stderr, m.Text)
	case messageLog:
		b.complaints = append(b.complaints, m.Log...)
		if b.outcome.Release != "" { // else of the boot, and no run's
			b.unassigned = append(b.unassigned, m.Log...)
		}
	case messageFail:
		b.fail = m
	case messageEnd:
		b.end, b.outcome.Exit = m, m.Exit
	}
}
