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
	// A stretch between shortestBrief and shortestJudged is judged by a limit that the
	// coarseness of jiffies does not reach.
	shortestBrief = 3 * jiffy
	briefLimit    = 0.50
	// pressureLimit is the share of a stretch under shortestJudged for which tasks
	// waited for a CPU, above which as many other tasks as CPUs are other work.
	pressureLimit = 0.50
)

// A Load is a snapshot of how busy the machine has been since it was booted. The
// zero Load knows nothing.
type Load struct {
	taken time.Time
	stat  cpuStat
	tasks int // running or runnable, but for threads of this process
	// waited is how long a task waited for a CPU, the mean of those that were not idle
	// (collect_percpu_times, kernel/sched/psi.c); 0 where the kernel does not say
	// (CONFIG_PSI).
	waited time.Duration
	err    error
}

// cpuStat is the sum over all CPUs in /proc/stat, in jiffies (show_stat,
// fs/proc/stat.c).
type cpuStat struct {
	busy  uint64 // user, nice, system, irq, softirq; guests are part of user
	steal uint64 // wanted, but the hypervisor ran something else
	cpus  int    // online
}

// Snapshot reads /proc/stat and /proc/loadavg, and where more tasks want to run than
// there are CPUs, also which of them are threads of this process. It takes some 30 microseconds on a
// small machine and 0.5 ms under emulation or User-Mode Linux; on a machine with
// hundreds of CPUs the kernel sums up all its interrupts for it. What fails is
// kept, and said by Since.
func Snapshot() Load { return snapshot(running) }

func snapshot(t tree) Load {
	buffer := make([]byte, 16<<10)
	stat, err := readStat(t, buffer)
	if err != nil {
		return Load{err: err}
	}
	tasks, err := readTasks(t, buffer)
	if err == nil && tasks > stat.cpus {
		tasks -= ownRunning(t, buffer)
	} else {
		tasks = max(0, tasks-1) // the thread that asked
	}
	return Load{taken: time.Now(), stat: stat, tasks: tasks, waited: readWaited(t, buffer), err: err}
}

// Since says what disturbed the stretch between two snapshots, of which before is
// the earlier. own is the CPU time, user and system, that the caller itself used
// in between (getrusage, RUSAGE_SELF, and RUSAGE_CHILDREN where it started some).
// The kinds are
//
//	steal  the hypervisor withheld more than 1 % of the CPU time that was wanted
//	load   other work took more than a tenth of a core (in a stretch under 100 ms,
//	       half of one), or more tasks of others than there are CPUs wanted to run both
//	       times; in a stretch under 100 ms as many as there are CPUs, if tasks waited
//	       for one most of the time
//
// /proc/stat counts in 10 ms, so two of these are allowed for, and a stretch under
// 30 ms is not judged by it. /proc/pressure/cpu counts in us. Work that the kernel does
// for the caller in threads of its own, such as removing a namespace, counts as other
// work.
func (l Load) Since(before Load, own time.Duration) []results.Warning {
	if err := errors.Join(before.err, l.err); err != nil || before.taken.IsZero() || l.taken.IsZero() {
		text := "How busy the machine was is unknown."
		if err != nil {
			text = "How busy the machine was is unknown: " + err.Error() + "."
		}
		return []results.Warning{{Kind: "load", Text: text}}
	}
	var warnings []results.Warning
	wall := l.taken.Sub(before.taken)
	if wall >= shortestJudged {
		warnings = appendSteal(warnings, "steal", "in this run", difference(l.stat, before.stat))
	}
	if text := l.loadText(before, wall, own); text != "" {
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

// loadText returns the sentence of a "load" warning, or "".
func (l Load) loadText(before Load, wall, own time.Duration) string {
	limit := loadLimit
	if wall < shortestJudged {
		limit = briefLimit
	}
	if wall >= shortestBrief {
		if cores := otherCores(difference(l.stat, before.stat), wall, own); cores > limit {
			return fmt.Sprintf("Other work on this machine took %.1f of a core during the run.", cores)
		}
	}
	waiting, cpus := min(l.tasks, before.tasks), l.stat.cpus
	if cpus > 0 && (waiting > cpus || waiting == cpus && wall < shortestJudged && l.pressed(before, wall)) {
		return fmt.Sprintf("%d other tasks wanted to run on %d CPUs before and after the run.", waiting, cpus)
	}
	return ""
}

// pressed reports whether tasks waited for a CPU most of the time. Where every CPU has a
// task, and one of them another, the mean of the CPUs is their number's part.
func (l Load) pressed(before Load, wall time.Duration) bool {
	return float64(l.waited-before.waited)*float64(l.stat.cpus) > pressureLimit*float64(wall)
}

// otherCores is how many cores' worth of time others used, at least.
func otherCores(s cpuStat, wall, own time.Duration) float64 {
	if s.busy < jiffySlack {
		return 0
	}
	busy := float64(s.busy-jiffySlack) * float64(jiffy)
	return (busy - float64(own)) / float64(wall)
}
