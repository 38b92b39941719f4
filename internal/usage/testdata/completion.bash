# bash completion for tides, written by "tides completion bash"

_tides_options() { # command
	case $1 in
	show) echo '--moon --output -o --charts --every --datum --an-option-with-a-long-name --count -n --help -h' ;;
	again) echo '--help -h' ;;
	help) echo '' ;;
	*) echo '--count -n --color --quiet -q --help -h --version -v' ;;
	esac
}

_tides_value() { # command, option
	case "$1 $2" in
	' --color')
		echo 'word auto never' ;;
	'show --moon')
		echo 'list new full' ;;
	'show --output'|\
	'show -o')
		echo 'file' ;;
	'show --charts')
		echo 'directory' ;;
	'show ')
		echo 'file cuxhaven brest' ;;
	'help ')
		echo 'word show again' ;;
	esac
}

_tides() {
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
			again) command='' nested=1 ;;
			*) return ;;
			esac
			;;
		--count|-n|--color|--moon|--output|-o|--charts|--every|--datum|--an-option-with-a-long-name) before=value option=$word ;;
		-*) ;;
		*) [[ $command ]] || command=$word ;;
		esac
	done
	if [[ $cur = '=' ]]; then
		cur='' before=value option=${COMP_WORDS[COMP_CWORD - 1]}
	elif [[ $cur = --*=* ]]; then
		glued=${cur%%=*}= option=${cur%%=*} cur=${cur#*=} before=value
	fi
	if [[ $before = value ]]; then
		answer=$(_tides_value "$command" "$option")
	elif [[ $cur = -* ]]; then
		answer="word $(_tides_options "$command")"
	elif [[ ! $command ]]; then
		answer='word show again help'
	else
		answer=$(_tides_value "$command" '')
		[[ $answer ]] || answer="word $(_tides_options "$command")"
	fi
	read -r kind words <<<"$answer"
	case $kind in
	word) mapfile -t COMPREPLY < <(compgen -P "$glued" -W "$words" -- "$cur") ;;
	list)
		[[ $cur = *,* ]] && glued+=${cur%,*},
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
	complete -F _tides tides
