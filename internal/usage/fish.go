package usage

import (
	"fmt"
	"strings"
)

// fish writes one "complete" command an option, each on the condition that its
// command stands on the line.
func (p Program) fish(b *strings.Builder) {
	command := "__" + p.Name + "_command"
	fmt.Fprintf(b, "# fish completion for %s, written by \"%s completion fish\"\n\n", p.Name, p.Name)
	fmt.Fprintf(b, fishCommand, command, strings.Join(p.valued(), " "), strings.Join(p.nesting(), " "))
	fmt.Fprintf(b, fishNested, command, p.Name)
	fmt.Fprintf(b, "complete -c %s -f\n", p.Name)
	fmt.Fprintf(b, "complete -c %s -n 'test (%s) = nested:' -a '(%s_nested)'\n", p.Name, command, command)
	for _, c := range p.Commands {
		fmt.Fprintf(b, "complete -c %s -n 'test -z (%s)' -a %s -d %s\n", p.Name, command, fishQuoted(c.Name), fishQuoted(c.Usage))
	}
	p.fishOptions(b, command, "", p.Options)
	for _, c := range p.Commands {
		p.fishOptions(b, command, c.Name, c.Options)
		// -r and -x are for the values of options.
		action := strings.NewReplacer(" -r", "", " -x", "").Replace(fishAction(c.Argument))
		if action != "" && c.Argument.Kind != Nested {
			fmt.Fprintf(b, "complete -c %s -n 'test (%s) = %s'%s\n", p.Name, command, c.Name, action)
		}
	}
}

func (p Program) fishOptions(b *strings.Builder, command, name string, options []Option) {
	condition := fmt.Sprintf("test (%s) = %s", command, name)
	if name == "" {
		condition = fmt.Sprintf("test -z (%s)", command)
	}
	for _, o := range options {
		fmt.Fprintf(b, "complete -c %s -n '%s'", p.Name, condition)
		for _, n := range o.Names {
			if len(n) == 1 {
				b.WriteString(" -s " + n)
			} else {
				b.WriteString(" -l " + n)
			}
		}
		if o.Argument != "" {
			action := fishAction(o.Value)
			if action == "" {
				action = " -x"
			}
			b.WriteString(action)
		}
		fmt.Fprintf(b, " -d %s\n", fishQuoted(o.Usage))
	}
}

// fishAction is what completes a value, with -x only that.
func fishAction(v Value) string {
	words := fishQuoted(strings.Join(v.Words, " "))
	if v.Kind == List {
		return " -x -a '(__fish_append , " + strings.Join(v.Words, " ") + ")'"
	}
	switch {
	case v.Kind == File && v.Words != nil:
		return " -r -F -a " + words
	case v.Kind == File:
		return " -r -F"
	case v.Kind == Directory:
		return " -x -a '(__fish_complete_directories)'"
	case v.Words == nil:
		return ""
	}
	return " -x -a " + words
}

func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// fishNested completes the command behind a "--" as if it stood alone.
const fishNested = `function %[1]s_nested
	set -l tokens (commandline -opc)
	set -l from (math 1 + (contains -i -- -- $tokens))
	complete -C "%[2]s $tokens[$from..] "(commandline -ct)
end

`

// fishCommand prints the command whose options come next, "nested:" behind that of a
// command that takes another, or an empty line.
const fishCommand = `function %[1]s
	set -l tokens (commandline -opc)
	set -l command ''
	set -l value 0
	for token in $tokens[2..]
		if test $value = 1
			set value 0
		else if test "$token" = --
			contains -- "$command" %[3]s; and set command nested:
			break
		else if contains -- "$token" %[2]s
			set value 1
		else if test -z "$command"; and not string match -q -- '-*' $token
			set command $token
		end
	end
	echo $command
end

`
