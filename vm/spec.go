package vm

// What the host leaves in the initramfs for the guest.
const (
	guestInit    = "init"
	guestSpec    = "fibchurn-guest.json" // a spec
	guestModules = "modules"             // directory of the modules' files
)

// A spec tells the guest what to do. It travels in the initramfs, so nothing of it
// has to fit the kernel's command line.
type spec struct {
	Args    []string     `json:"args"` // of the command, the program's name first
	Modules []specModule `json:"modules"`
	Sysctls []Sysctl     `json:"sysctls"`
	Dir     string       `json:"dir"` // working directory, the host's: files are there under their relative paths too
}

// A specModule is a file in guestModules, in the order of loading.
type specModule struct {
	File   string `json:"file"`
	Params string `json:"params"`
}
