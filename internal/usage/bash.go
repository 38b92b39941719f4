package usage

import (
	"fmt"
	"strings"
)

// bash writes a script that needs bash alone, 4.4 or later, and not the package
// bash-completion.
func (p Program) bash(b *strings.Builder) {
	f := "_" + p.Name
	fmt.Fprintf(b, "# bash completion for %s, written by \"%s completion bash\"\n\n", p.Name, p.Name)
	p.bashOptions(b, f)
	p.bashValues(b, f)
	fmt.Fprintf(b, bashMain, f, strings.Join(p.nesting(), "|"), strings.Join(p.valued(), "|"), strings.Join(p.names(), " "), p.Name)
}

// bashOptions writes a function that prints the options of a command.
func (p Program) bashOptions(b *strings.Builder, f string) {
	fmt.Fprintf(b, "%s_options() { # command\n\tcase $1 in\n", f)
	for _, c := range p.Commands {
		fmt.Fprintf(b, "\t%s) echo '%s' ;;\n", c.Name, strings.Join(own(c.Options), " "))
	}
	fmt.Fprintf(b, "\t*) echo '%s' ;;\n\tesac\n}\n\n", strings.Join(own(p.Options), " "))
}

// bashValues writes a function that prints what the value of an option of a
// command is, or with the option "" what the command's arguments are: a kind and
// words.
func (p Program) bashValues(b *strings.Builder, f string) {
	patterns := map[string][]string{}
	var order []string
	add := func(command, option string, v Value) {
		answer := bashAnswer(v)
		if answer == "" {
			return
		}
		if patterns[answer] == nil {
			order = append(order, answer)
		}
		patterns[answer] = append(patterns[answer], fmt.Sprintf("'%s %s'", command, option))
	}
	addAll := func(command string, options []Option) {
		for _, o := range options {
			if o.Argument == "" {
				continue
			}
			for _, n := range o.Names {
				add(command, spelled(n), o.Value)
			}
		}
	}
	addAll("", p.Options)
	for _, c := range p.Commands {
		addAll(c.Name, c.Options)
		add(c.Name, "", c.Argument)
	}
	fmt.Fprintf(b, "%s_value() { # command, option\n\tcase \"$1 $2\" in\n", f)
	for _, answer := range order {
		fmt.Fprintf(b, "\t%s)\n\t\techo '%s' ;;\n", strings.Join(patterns[answer], "|\\\n\t"), answer)
	}
	b.WriteString("\tesac\n}\n\n")
}

// bashAnswer says what a value is; nothing where nothing can be completed.
func bashAnswer(v Value) string {
	words := strings.Join(v.Words, " ")
	switch v.Kind {
	case Word:
		return "word " + words
	case List:
		return "list " + words
	case File:
		return strings.TrimSpace("file " + words)
	case Directory:
		return "directory"
	}
	if words != "" {
		return "word " + words
	}
	return ""
}

// bashMain is the function that bash calls. It takes words apart at "=" itself
// where COMP_WORDBREAKS does not.
const bashMain = `%[1]s() {
	local cur=${COMP_WORDS[COMP_CWORD]} option='' command='' before='' nested='' word i answer kind words glued=''
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $before = value ]]; then
			before=''
			[[ $word = '=' ]] && before=value
			continue
		fi
		case $word in
		'=') before=value ;;
		--)
			case $command in
			%[2]s) command='' nested=1 ;;
			*) return ;;
			esac
			;;
		%[3]s) before=value option=$word ;;
		-*) ;;
		*) [[ $command ]] || command=$word ;;
		esac
	done
	if [[ $cur = '=' ]]; then
		cur='' before=value option=${COMP_WORDS[COMP_CWORD - 1]}
	elif [[ $cur = --*=* ]]; then
		glued=${cur%%%%=*}= option=${cur%%%%=*} cur=${cur#*=} before=value
	fi
	if [[ $before = value ]]; then
		answer=$(%[1]s_value "$command" "$option")
	elif [[ $cur = -* ]]; then
		answer="word $(%[1]s_options "$command")"
	elif [[ ! $command ]]; then
		answer='word %[4]s'
	else
		answer=$(%[1]s_value "$command" '')
		[[ $answer ]] || answer="word $(%[1]s_options "$command")"
	fi
	read -r kind words <<<"$answer"
	case $kind in
	word) mapfile -t COMPREPLY < <(compgen -P "$glued" -W "$words" -- "$cur") ;;
	list)
		[[ $cur = *,* ]] && glued+=${cur%%,*},
		mapfile -t COMPREPLY < <(compgen -P "$glued" -W "$words" -- "${cur##*,}")
		compopt -o nospace 2>/dev/null
		;;
	file)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -P "$glued" -f -- "$cur")
		compopt -o filenames 2>/dev/null
		;;
	directory)
		mapfile -t COMPREPLY < <(compgen -P "$glued" -d -- "$cur")
		compopt -o filenames 2>/dev/null
		;;
	esac
} &&
	complete -F %[1]s %[5]s
`
