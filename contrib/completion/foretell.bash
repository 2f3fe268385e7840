# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion of foretell(1). Sub-commands and options come from --help,
# so that they are those of the installed foretell.

_foretell_commands() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'
}

# Prints "--name" or "--name=ARGUMENT", one a line, and "-x" for a short option.
_foretell_options() {
  "$1" "$2" --help 2>/dev/null |
    sed -n 's/^  \(-.\), \(--[^ ]*\).*/\1\n\2/p; s/^      \(--[^ ]*\).*/\1/p'
}

_foretell() {
  local program=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} option= kind= i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "$(_foretell_commands "$program") help --help --version" -- "$cur"))
    return
  fi
  if [ "${COMP_WORDS[1]}" = help ]; then
    COMPREPLY=($(compgen -W "$(_foretell_commands "$program")" -- "$cur"))
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    [ "${COMP_WORDS[i]}" = -- ] && { compopt -o default 2>/dev/null; return; }
  done

  # Bash splits "--name=val" into three words, "--name val" into two.
  if [ "$cur" = = ]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} cur=
  elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  if [ -n "$option" ]; then
    kind=$(_foretell_options "$program" "${COMP_WORDS[1]}" | sed -n "s/^$option=//p")
  fi

  case $kind in
  '') ;;
  DIR) COMPREPLY=($(compgen -d -- "$cur")); return ;;
  USER) COMPREPLY=($(compgen -u -- "$cur")); return ;;
  MODE) COMPREPLY=($(compgen -W 'check set raise trim off force training inference' -- "$cur")); return ;;
  *) compopt -o default 2>/dev/null; return ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_foretell_options "$program" "${COMP_WORDS[1]}" |
      sed 's/=.*/=/')" -- "$cur"))
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  compopt -o default 2>/dev/null
}

complete -F _foretell foretell
