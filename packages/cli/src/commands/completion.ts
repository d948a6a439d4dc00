import { Command } from 'commander'
import { completionScript, shells } from '../completion.js'
import { outputOf, withJson } from '../output/output.js'
import { UsageError } from '../usage.js'

const examples = `
Examples:
  source <(carillon completion bash)            in ~/.bashrc
  source <(carillon completion zsh)             in ~/.zshrc, after compinit
  carillon completion fish | source             in ~/.config/fish/config.fish`

/** `carillon completion bash|zsh|fish` */
export function completionCommand(): Command {
  const command = new Command('completion')
    .description('Print a script that completes commands and options in a shell')
    .argument('<shell>', shells.join(', '))
    .addHelpText('after', examples)
  withJson(command)
  command.action((given: string) => {
    const output = outputOf(command)
    const shell = shells.find((one) => one === given.toLowerCase())
    if (shell === undefined)
      throw new UsageError(`"${given}" is no shell that is known here: ${shells.join(', ')}.`)
    const script = completionScript(rootOf(command), shell)
    output.result({ shell, script }, () => script)
  })
  return command
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent)
}
