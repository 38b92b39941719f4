package results

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// A KTAP writes outcomes as a stream of the Kernel Test Anything Protocol
// (Documentation/dev-tools/ktap.rst), in the dialect of kselftest, which netdev's CI,
// kunit.py and readers of TAP take alike:
//
//	TAP version 13
//	1..2
//	# what the test has to say
//	ok 1 delete-iface --subnets 256 # time=1234ms
//	ok 2 routes --link-kind dummy # SKIP an interface of kind dummy: ...
//	# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:1 error:0
//
// Every method returns the error of the writer. It is not safe for concurrent use.
type KTAP struct {
	w        io.Writer
	comment  *comments
	outcomes []Outcome
}

// NewKTAP writes the version and the plan: how many tests follow.
func NewKTAP(w io.Writer, tests int) (*KTAP, error) {
	_, err := fmt.Fprintf(w, "TAP version 13\n1..%d\n", tests)
	return &KTAP{w: w, comment: &comments{w: w}}, err
}

// Comments is where to write what is to stand above the next result, as comments.
func (k *KTAP) Comments() io.Writer { return k.comment }

// Result writes a test's result line, and above it why the test failed. The numbers
// count from 1. An interrupted test has the directive ERROR.
func (k *KTAP) Result(o Outcome) error {
	k.outcomes = append(k.outcomes, o)
	err := k.comment.flush()
	if o.Verdict == Failed && err == nil {
		_, err = fmt.Fprintln(k.comment, plain(o.Reason))
	}
	if err != nil {
		return err
	}
	result, directive := "ok", fmt.Sprintf("time=%dms", o.Took.Milliseconds())
	switch o.Verdict {
	case Failed:
		result = "not ok"
	case Skipped:
		directive = strings.TrimSpace("SKIP " + plain(o.Reason))
	case Interrupted:
		result, directive = "not ok", strings.TrimSpace("ERROR "+plain(o.Reason))
	}
	// The hash begins the directive, so no name may have one.
	name := strings.TrimSpace(strings.ReplaceAll(plain(o.Name), "#", "_"))
	_, err = fmt.Fprintf(k.w, "%s %d %s # %s\n", result, len(k.outcomes), name, directive)
	return err
}

// End writes the totals as kselftest does.
func (k *KTAP) End() error {
	if err := k.comment.flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(k.w, "# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:%d\n",
		Tally(k.outcomes, Passed), Tally(k.outcomes, Failed), Tally(k.outcomes, Skipped), Tally(k.outcomes, Interrupted))
	return err
}

// A comments turns every line written to it into a comment, so that none can be taken
// for a result.
type comments struct {
	w    io.Writer
	rest []byte // a line whose end has not come
	err  error
}

func (c *comments) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for c.err == nil {
		line, rest, found := bytes.Cut(c.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		c.rest = rest
		c.line(line)
	}
	return 0, c.err
}

func (c *comments) line(line []byte) {
	text := strings.TrimRight("# "+string(line), " \r")
	_, c.err = fmt.Fprintln(c.w, text)
}

// flush ends a line that has no end.
func (c *comments) flush() error {
	if len(c.rest) > 0 && c.err == nil {
		c.line(c.rest)
	}
	c.rest = nil
	return c.err
}
