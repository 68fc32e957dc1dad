import { Argument, type Command } from 'commander';

/** Defines `completion`, which prints the script that completes commands, options and values in a shell. */
export function completion(command: Command): void {
  command
    .description(
      'Prints a script that completes commands, options, values and file names. For bash: source <(capture-gateway completion bash). For zsh: source <(capture-gateway completion zsh), after compinit. For fish: capture-gateway completion fish | source.',
    )
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionScript } = await import('../completion/completion.ts');
      process.stdout.write(completionScript(shell, command.parent ?? command));
    });
}
