import type { Command } from 'commander';
import type { OpenapiOptions } from '../draft/openapi.ts';
import { addFormat, rulesOption } from './shared-options.ts';

/** Defines `openapi`, which prints V1's description. Exit code 1 when V2's is junk, 2 when it or the rule book cannot be read. */
export function openapi(command: Command): void {
  command
    .description(
      "Prints V1's OpenAPI description: V2's with every change of the rule book undone. x-change lists the changes that a part differs by. What the description cannot show is listed on stderr.",
    )
    .argument(
      '[v2]',
      "V2's description: a file, a URL or - for stdin (default: that of the embedded reference)",
    )
    .addOption(rulesOption());
  addFormat(command, ['json', 'yaml']).action(async (source: string | undefined, options: OpenapiOptions) => {
    const { runOpenapi } = await import('../draft/openapi.ts');
    await runOpenapi(source, options);
  });
}
