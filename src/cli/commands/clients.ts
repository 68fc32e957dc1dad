import type { Command } from 'commander';
import type { NameOptions } from '../report/clients.ts';
import { addFormat, adminOption, DEFAULT_ADMIN, defaultCommand } from './shared-options.ts';

/** Defines `clients`: hashes of API keys, and names for hashes. */
export function clients(command: Command): void {
  command.description(
    'A client is known by a keyed hash of its API key. The admin token is read from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE.',
  );
  addFormat(defaultCommand(command, 'list'), ['text', 'json'])
    .description('list the clients of a running gateway: hash, name, latest User-Agent and address')
    .addOption(adminOption('admin listener', DEFAULT_ADMIN))
    .action(async ({ admin, format }: { readonly admin: string; readonly format: 'text' | 'json' }) => {
      const { listClients } = await import('../report/clients.ts');
      await listClients(admin, format);
    });
  addFormat(command.command('hash'), ['text', 'json'])
    .description(
      'print the hash of the API key on stdin; the secret is read from GATEWAY_CLIENT_SECRET or GATEWAY_CLIENT_SECRET_FILE',
    )
    .action(async ({ format }: { readonly format: 'text' | 'json' }) => {
      const { printHash } = await import('../report/clients.ts');
      await printHash(format);
    });
  addFormat(command.command('name'), ['text', 'json'])
    .description('name a client, in the names file or through a running gateway; no name takes it away')
    .argument('<client>', 'client hash of 16 hex digits')
    .argument('[name]', 'name for people')
    .option('--names <file>', 'names file; by default GATEWAY_CLIENT_NAMES')
    .addOption(adminOption('running gateway whose names file to change, such as http://127.0.0.1:8081'))
    .action(async (client: string, name: string | undefined, options: NameOptions) => {
      const { giveName } = await import('../report/clients.ts');
      await giveName(client, name, options);
    });
}
