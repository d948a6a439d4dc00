import type { Command } from 'commander'
import { quoted } from './import/crontab-command.js'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

interface Place {
  /** "carillon jobs list" */
  readonly path: string
  readonly commands: readonly { name: string; description: string }[]
  readonly options: readonly string[]
}

/** Every place of the tree with the words that may follow there. */
export function placesOf(command: Command, before = ''): Place[] {
  const path = before === '' ? command.name() : `${before} ${command.name()}`
  const place: Place = {
    path,
    commands: command.commands.flatMap((inner) =>
      [inner.name(), ...inner.aliases()].map((name) => ({ name, description: inner.description() })),
    ),
    options: [...command.options.flatMap(({ long }) => long ?? []), '--help'],
  }
  const below = command.commands.flatMap((inner) => {
    const own = placesOf(inner, path)
    const again = inner
      .aliases()
      .flatMap((alias) =>
        own.map((one) => ({ ...one, path: one.path.replace(`${path} ${inner.name()}`, `${path} ${alias}`) })),
      )
    return [...own, ...again]
  })
  return [place, ...below]
}

export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program)
  switch (shell) {
    case 'bash':
      return bash(places)
    case 'zsh':
      return `#compdef carillon\nautoload -U +X bashcompinit && bashcompinit\n${bash(places)}`
    case 'fish':
      return fish(places)
  }
}

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, commands, options }) =>
      `    ${quoted(path)}) echo ${quoted([...commands.map(({ name }) => name), ...options].join(' '))} ;;`,
  )
  return `# carillon completion for bash. Load it with: source <(carillon completion bash)
_carillon_words() {
  case "$1" in
${cases.join('\n')}
  esac
}
_carillon() {
  local path=carillon word at current="\${COMP_WORDS[COMP_CWORD]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    case "$word" in -*) continue ;; esac
    case " $(_carillon_words "$path") " in *" $word "*) path="$path $word" ;; esac
  done
  COMPREPLY=($(compgen -W "$(_carillon_words "$path")" -- "$current"))
}
complete -o default -F _carillon carillon
`
}

/** Fish asks for every word by itself: the condition is what stands before it. */
function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const when = `-n ${quoted(`__carillon_at ${path}`)}`
    return [
      ...commands.map(
        ({ name, description }) =>
          `complete -c carillon -f ${when} -a ${quoted(name)} -d ${quoted(description)}`,
      ),
      ...options.map((option) => `complete -c carillon ${when} -l ${quoted(option.slice(2))}`),
    ]
  })
  return `# carillon completion for fish. Load it with: carillon completion fish | source
function __carillon_at
  set -l words (commandline -opc | string match -v -- '-*')
  set -l count (count $argv)
  test (count $words) -ge $count; and test "$words[1..$count]" = "$argv"
end
${lines.join('\n')}
`
}
