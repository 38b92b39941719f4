package vm

// A message is a line of the results channel that is no run.
type message struct {
	Guest   string   `json:"guest"` // one of the constants below
	Text    string   `json:"text,omitempty"`
	Log     []string `json:"log,omitempty"`     // messageLog: what the kernel complained of
	Exit    int      `json:"exit,omitempty"`    // messageEnd: the command's exit code
	Runs    int      `json:"runs,omitempty"`    // messageEnd: how many runs were sent
	Release string   `json:"release,omitempty"` // messageStart: uname -r
}

const (
	messageStart  = "start"  // the guest is up, the command comes next
	messageStdout = "stdout" // Text is a line of the command's output that is no run
	messageStderr = "stderr" // Text is a line the command, or the guest itself, says
	messageLog    = "log"    // complaints of the kernel since the last message of this kind
	messageFail   = "fail"   // Text says why the guest could not start the command
	messageEnd    = "end"    // the command ended: nothing follows
)
