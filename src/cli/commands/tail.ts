import type { Command } from 'commander';
import type { TailOptions } from '../logs/tail.ts';
import { addFormat, adminOption } from './shared-options.ts';

/** Defines `tail`, which prints the rewrite log in a readable form. */
export function tail(command: Command): void {
  command
    .description(
      'Prints entries of a log file, of stdin, or live from the admin listener of a running gateway. The token is read from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE.',
    )
    .argument('[file]', 'log file, plain or gzipped; - is stdin')
    .optionsGroup('Entries:')
    .option(
      '--filter <filter>',
      'filter as in the inspector: client:3fa9 op:create_client status:4xx -verdict:passed',
      '',
    )
    .option('-f, --follow', 'follow the file as it grows')
    .addOption(adminOption('follow a running gateway, such as http://127.0.0.1:8081'));
  addFormat(command, ['text', 'json']).action(async (file: string | undefined, options: TailOptions) => {
    const { runTail } = await import('../logs/tail.ts');
    await runTail(file, options);
  });
}
