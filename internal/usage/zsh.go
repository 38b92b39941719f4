package usage

import (
	"fmt"
	"strings"
)

// zsh writes a function for the completion system, to be put into a directory of
// $fpath as _NAME.
func (p Program) zsh(b *strings.Builder) {
	f := "_" + p.Name
	fmt.Fprintf(b, "#compdef %s\n# zsh completion for %s, written by \"%s completion zsh\"\n\n", p.Name, p.Name, p.Name)
	fmt.Fprintf(b, "(( $+functions[%s_commands] )) || %s_commands() {\n\tlocal -a commands\n\tcommands=(\n", f, f)
	for _, c := range p.Commands {
		fmt.Fprintf(b, "\t\t%s\n", quoted(c.Name+":"+c.Usage))
	}
	fmt.Fprintf(b, "\t)\n\t_describe -t commands command commands\n}\n\n")

	fmt.Fprintf(b, "(( $+functions[%s_arguments] )) || %s_arguments() {\n\tcase $words[1] in\n", f, f)
	for _, c := range p.Commands {
		fmt.Fprintf(b, "\t%s)\n\t\t_arguments -S : \\\n", c.Name)
		zshOptions(b, "\t\t\t", c.Options)
		fmt.Fprintf(b, "\t\t\t%s ;;\n", zshArgument(f, c))
	}
	fmt.Fprintf(b, "\t*) _message 'no such command' ;;\n\tesac\n}\n\n")

	fmt.Fprintf(b, "(( $+functions[%s_command] )) || %s_command() {\n", f, f)
	fmt.Fprintf(b, "\tif (( CURRENT == 1 )); then\n\t\t%s_commands\n\telse\n\t\t%s_arguments\n\tfi\n}\n\n", f, f)

	fmt.Fprintf(b, "%s() {\n\t_arguments : \\\n", f)
	zshOptions(b, "\t\t", p.Options)
	fmt.Fprintf(b, "\t\t'*::command:%s_command'\n}\n\n", f)
	fmt.Fprintf(b, "if [[ $funcstack[1] = %s ]]; then\n\t%s \"$@\"\nelse\n\tcompdef %s %s\nfi\n", f, f, f, p.Name)
}

// zshOptions writes one specification a name: names of an option exclude one
// another, but where it may be repeated.
func zshOptions(b *strings.Builder, indent string, options []Option) {
	for _, o := range options {
		var names []string
		for _, n := range o.Names {
			names = append(names, spelled(n))
		}
		exclusion := "(" + strings.Join(names, " ") + ")"
		if o.Repeated {
			exclusion = "*"
		}
		for _, name := range names {
			spec := exclusion + name
			if o.Argument != "" && strings.HasPrefix(name, "--") {
				spec += "=" // also in one word
			}
			spec += "[" + zshEscaped(o.Usage) + "]"
			if o.Argument != "" {
				spec += ":" + zshEscaped(strings.ToLower(o.Argument)) + ":" + zshAction(o.Value)
			}
			fmt.Fprintf(b, "%s%s \\\n", indent, quoted(spec))
		}
	}
}

func zshEscaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
}

// zshAction is what completes a value; a space completes nothing, but shows what
// the value is.
func zshAction(v Value) string {
	words := strings.Join(v.Words, " ")
	switch v.Kind {
	case List:
		return "_sequence compadd - " + words
	case File:
		if words != "" {
			return "_alternative 'words:word:(" + words + ")' 'files:file:_files'"
		}
		return "_files"
	case Directory:
		return "_files -/"
	}
	if words != "" {
		return "(" + words + ")"
	}
	return " "
}

func zshArgument(f string, c Command) string {
	switch {
	case c.Argument.Kind == Nested:
		return quoted("*::command:" + f + "_command")
	case c.Argument.Kind == Text && c.Argument.Words == nil:
		return ""
	case c.Argument.Kind == Word:
		return quoted("1:" + "argument:" + zshAction(c.Argument))
	}
	return quoted("*:argument:" + zshAction(c.Argument))
}
