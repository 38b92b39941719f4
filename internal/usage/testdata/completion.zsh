#compdef tides
# zsh completion for tides, written by "tides completion zsh"

(( $+functions[_tides_commands] )) || _tides_commands() {
	local -a commands
	commands=(
		'show:show the tides of ports'
		'again:do another command twice'
		'help:list the commands, or tell what one does'
	)
	_describe -t commands command commands
}

(( $+functions[_tides_arguments] )) || _tides_arguments() {
	case $words[1] in
	show)
		_arguments -S : \
			'*--moon=[new, full or {{none}}]:word:_sequence compadd - new full' \
			'(--output -o)--output=[write to FILE]:file:_files' \
			'(--output -o)-o[write to FILE]:file:_files' \
			'(--charts)--charts=[DIR of charts (default\: beside the program)]:dir:_files -/' \
			'(--every)--every=[time between two lines]:time: ' \
			'(--datum)--datum=[level that counts as 0]:x: ' \
			'(--an-option-with-a-long-name)--an-option-with-a-long-name=[has a line of its own]:value: ' \
			'(--count -n)--count=[how many\: '\''few'\'' or \[many\]]:n: ' \
			'(--count -n)-n[how many\: '\''few'\'' or \[many\]]:n: ' \
			'(--help -h)--help[print this]' \
			'(--help -h)-h[print this]' \
			'*:argument:_alternative '\''words:word:(cuxhaven brest)'\'' '\''files:file:_files'\''' ;;
	again)
		_arguments -S : \
			'(--help -h)--help[print this]' \
			'(--help -h)-h[print this]' \
			'*::command:_tides_command' ;;
	help)
		_arguments -S : \
			'1:argument:(show again)' ;;
	*) _message 'no such command' ;;
	esac
}

(( $+functions[_tides_command] )) || _tides_command() {
	if (( CURRENT == 1 )); then
		_tides_commands
	else
		_tides_arguments
	fi
}

_tides() {
	_arguments : \
		'(--count -n)--count=[how many\: '\''few'\'' or \[many\]]:n: ' \
		'(--count -n)-n[how many\: '\''few'\'' or \[many\]]:n: ' \
		'(--color)--color=[auto or never]:word:(auto never)' \
		'(--quiet -q)--quiet[say nothing]' \
		'(--quiet -q)-q[say nothing]' \
		'(--help -h)--help[print this]' \
		'(--help -h)-h[print this]' \
		'(--version -v)--version[print the version]' \
		'(--version -v)-v[print the version]' \
		'*::command:_tides_command'
}

if [[ $funcstack[1] = _tides ]]; then
	_tides "$@"
else
	compdef _tides tides
fi
