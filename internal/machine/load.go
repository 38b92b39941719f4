package machine

import (
	"errors"
	"fmt"
	"time"

	"fibchurn/results"
)

const (
	// jiffy is the unit of /proc/stat: USER_HZ is 100 on every architecture that
	// Go runs on, whatever the kernel's own tick.
	jiffy = 10 * time.Millisecond
	// jiffySlack is by how many jiffies a difference of two snapshots may be off.
	jiffySlack = 2
	// shortestJudged is the shortest stretch that jiffies say something about.
	shortestJudged = 10 * jiffy
	// stealLimit is the share of the wanted CPU time above which steal is reported.
	stealLimit = 0.01
	// loadLimit is the share of one core above which other work is reported.
	loadLimit = 0.10
	// aroundLimit is that of a stretch that has more than the run in it, such as what the
	// kernel has to do to remove the namespace of an earlier one.
	aroundLimit = 0.25
	// mostLimit is the share of all CPUs' time above which what neither idled nor worked for
	// this process is reported, ticks or not, where as many others as CPUs wanted to run.
	mostLimit = 0.50
)

// A Load is a snapshot of how busy the machine has been since it was booted. The
// zero Load knows nothing.
type Load struct {
	taken time.Time
	stat  cpuStat
	own   time.Duration // CPU time of this process
	tasks int           // running or runnable, but for threads of this process
	err   error
}

// cpuStat is the sum over all CPUs in /proc/stat, in jiffies (show_stat,
// fs/proc/stat.c).
type cpuStat struct {
	busy  uint64 // user, nice, system, irq, softirq; guests are part of user
	idle  uint64 // idle and iowait
	steal uint64 // wanted, but the hypervisor ran something else
	cpus  int    // online
}

// Snapshot reads /proc/stat, /proc/loadavg and the CPU time of this process, and where more
// tasks want to run than there are CPUs, also which of them are threads of this process. It
// takes some 30 microseconds on a small machine and 0.5 ms under emulation or User-Mode
// Linux; on a machine with hundreds of CPUs the kernel sums up all its interrupts for it.
// What fails is kept, and said by Since.
func Snapshot() Load { return snapshot(running) }

func snapshot(t tree) Load {
	buffer := make([]byte, 16<<10)
	l := Load{}
	l.stat, l.err = readStat(t, buffer)
	l.taken = time.Now()
	if l.err == nil {
		l.own, l.err = ownCPU()
	}
	if l.err == nil {
		l.tasks, l.err = readTasks(t, buffer)
	}
	if l.err == nil && l.tasks > l.stat.cpus {
		l.tasks -= ownRunning(t, buffer)
	} else {
		l.tasks = max(0, l.tasks-1) // the thread that asked
	}
	return l
}

// Since says what disturbed a run between two snapshots, of which before is the earlier.
// s is the run, or a longer stretch that it was part of. The kinds are
//
//	steal  the hypervisor withheld more than 1 % of the CPU time that was wanted
//	load   other work took more than a tenth of a core, or a quarter of one in a longer
//	       stretch than the run; or more tasks of others than there are CPUs wanted to run
//	       before and after it; or as many, and more than half of what the CPUs had to
//	       give in the stretch went elsewhere (not of a single CPU, for which some thread
//	       of the kernel is ready as often as not)
//
// Who worked is counted by ticks (CONFIG_TICK_CPU_ACCOUNTING, kernel/sched/cputime.c) and
// shown in 10 ms, two of which are allowed for; a stretch under 100 ms is not judged by it.
// A guest whose host is busy misses most of its ticks. How long a CPU was idle is measured,
// not counted (get_cpu_idle_time_us, kernel/time/tick-sched.c, with CONFIG_NO_HZ_COMMON), so
// that the rest is known as well; but the kernel's own work is in it, up to 0.7 of a core
// under emulation. Work that the kernel does for the caller in threads of its own, such as
// removing a namespace, counts as other work.
func (l Load) Since(before Load, s Stretch) []results.Warning {
	if err := errors.Join(before.err, l.err, s.err); err != nil {
		return []results.Warning{{Kind: "load", Text: "How busy the machine was is unknown: " + err.Error() + "."}}
	}
	when, limit := "during the run", loadLimit
	if s.wall > l.taken.Sub(before.taken) {
		when, limit = fmt.Sprintf("in the %d ms that the run was part of", s.wall.Milliseconds()), aroundLimit
	}
	var warnings []results.Warning
	if s.wall >= shortestJudged {
		warnings = appendSteal(warnings, "steal", when, s.stat)
	}
	waiting, cpus := min(l.tasks, before.tasks), l.stat.cpus
	counted, most := s.otherCores(), s.mostCores()
	text := ""
	switch {
	case s.wall >= shortestJudged && counted > limit:
		text = fmt.Sprintf("Other work on this machine took %.1f of a core %s.", counted, when)
	case cpus > 0 && waiting > cpus:
		text = fmt.Sprintf("%d other tasks wanted to run on %d CPUs before and after the run.", waiting, cpus)
	case s.wall >= shortestJudged && cpus > 1 && waiting == cpus && most > mostLimit*float64(cpus):
		text = fmt.Sprintf("%d other tasks wanted to run on %d CPUs before and after the run, and %.1f of a core went elsewhere %s.", waiting, cpus, most, when)
	}
	if text != "" {
		warnings = append(warnings, results.Warning{Kind: "load", Text: text})
	}
	return warnings
}

// SinceBoot says whether this virtual machine lost more than 1 % of the CPU time it
// wanted since it was booted: kind "virtual". Such a machine has neighbours, even
// where they were quiet during a run.
func (l Load) SinceBoot() []results.Warning {
	return appendSteal(nil, "virtual", "since it was booted", l.stat)
}

func appendSteal(warnings []results.Warning, kind, when string, s cpuStat) []results.Warning {
	share := stealShare(s)
	if s.steal < jiffySlack || share <= stealLimit {
		return warnings
	}
	return append(warnings, results.Warning{
		Kind: kind,
		Text: fmt.Sprintf("The hypervisor withheld %.1f %% of the CPU time that this machine wanted %s.", 100*share, when),
	})
}

// stealShare is of the time that was wanted, not of all time: many idle CPUs would
// hide what one busy one has lost.
func stealShare(s cpuStat) float64 {
	if s.steal == 0 {
		return 0
	}
	return float64(s.steal) / (float64(s.busy) + float64(s.steal))
}

// difference leaves at 0 what went backwards, as the kernel allows some of
// these figures to do (Documentation/filesystems/proc.rst).
func difference(after, before cpuStat) cpuStat {
	return cpuStat{
		busy:  lessOrZero(after.busy, before.busy),
		idle:  lessOrZero(after.idle, before.idle),
		steal: lessOrZero(after.steal, before.steal),
		cpus:  after.cpus,
	}
}

func lessOrZero(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
