import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { zshCompletion } from './completion-zsh.ts';
import { describeCommand } from './command-spec.ts';
import { createProgram } from './program.ts';

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** Returns the completion script of a shell, made from the definitions of all commands. */
export async function completionScript(shell: keyof typeof SCRIPTS): Promise<string> {
  const program = await createProgram(() => true);
  return SCRIPTS[shell](describeCommand(program), program.name());
}
