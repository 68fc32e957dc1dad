import { stdin } from 'node:process';
import type { Command } from 'commander';
import type { ClientsView } from '../inspector/api.ts';
import { nameClient } from '../node/admin/name-client.ts';
import { createClientHash } from '../node/client-hash.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { AdminClient } from './admin-client.ts';
import { printColumns } from './columns.ts';

interface NameOptions {
  readonly names?: string;
  readonly admin?: string;
}

/** Adds the command `clients`: hashes of API keys, and names for hashes. */
export function clients(program: Command): void {
  const command = program
    .command('clients')
    .summary('hash API keys, and give clients names')
    .description(
      'A client is known by a keyed hash of its API key. The admin token is read from GATEWAY_ADMIN_TOKEN.',
    );
  command
    .command('list', { isDefault: true })
    .description('list the clients of a running gateway: hash, name, latest User-Agent and address')
    .option('--admin <url>', 'admin listener', 'http://127.0.0.1:8081')
    .action((options: { readonly admin: string }) => finish(list(options.admin)));
  command
    .command('hash')
    .description('print the hash of the API key on stdin; the secret is read from GATEWAY_CLIENT_SECRET')
    .action(() => finish(hash()));
  command
    .command('name')
    .description('name a client, in the names file or through a running gateway; no name takes it away')
    .argument('<client>', 'client hash of 16 hex digits')
    .argument('[name]', 'name for people')
    .option('--names <file>', 'names file; by default GATEWAY_CLIENT_NAMES')
    .option('--admin <url>', 'running gateway whose names file to change, such as http://127.0.0.1:8081')
    .action((client: string, name: string | undefined, options: NameOptions) =>
      finish(giveName(client, name, options)),
    );
}

/** Prints the outcome; a fault is exit code 2. */
async function finish(work: Promise<{ readonly out: string } | { readonly fault: string }>): Promise<void> {
  const outcome = await work;
  if ('out' in outcome) {
    process.stdout.write(outcome.out);
    return;
  }
  process.stderr.write(`${outcome.fault}\n`);
  process.exitCode = 2;
}

async function hash(): Promise<{ readonly out: string } | { readonly fault: string }> {
  const secret = process.env['GATEWAY_CLIENT_SECRET'];
  if (secret === undefined || secret === '')
    return {
      fault:
        'Set GATEWAY_CLIENT_SECRET to the secret of the gateway: without one its hashes change at each start.',
    };
  if (stdin.isTTY) process.stderr.write('Enter the API key, then Ctrl-D:\n');
  let input = '';
  // The gateway reads a header field as bytes, whatever their encoding is.
  for await (const chunk of stdin.setEncoding('latin1')) input += String(chunk);
  const key = input.trim();
  if (key === '' || /[\r\n]/.test(key)) return { fault: 'Give one API key on stdin.' };
  return { out: `${createClientHash(secret)(key)}\n` };
}

async function giveName(
  client: string,
  name: string | undefined,
  { names, admin }: NameOptions,
): Promise<{ readonly out: string } | { readonly fault: string }> {
  const path = names ?? process.env['GATEWAY_CLIENT_NAMES'];
  const out = name === undefined ? `${client} has no name now.\n` : `${client} is called ${name.trim()}.\n`;
  if (admin !== undefined) {
    const body = JSON.stringify(name === undefined ? { client } : { client, name });
    const response = await ask(admin, body);
    return 'fault' in response ? response : { out };
  }
  if (path === undefined) return { fault: 'Give --names or --admin, or set GATEWAY_CLIENT_NAMES.' };
  return nameClient(path, client, name) ?? { out };
}

async function list(admin: string): Promise<{ readonly out: string } | { readonly fault: string }> {
  const response = await ask(admin, undefined);
  if ('fault' in response) return response;
  const rows = response.clients.map(({ client, name, userAgents, addresses }) =>
    [client, name ?? '-', userAgents[0] ?? '-', addresses[0] ?? '-'].map(terminalText),
  );
  if (rows.length === 0) return { out: 'No client was seen yet, and none has a name.\n' };
  return { out: `${printColumns(['client', 'name', 'user agent', 'address'], rows)}\n` };
}

async function ask(
  admin: string,
  body: string | undefined,
): Promise<ClientsView | { readonly fault: string }> {
  const client = new AdminClient({ url: admin, token: process.env['GATEWAY_ADMIN_TOKEN'] });
  try {
    const response = await client.ask('/clients', {}, body);
    const text = await response.body.text();
    if (response.statusCode === 200) {
      const view: ClientsView = JSON.parse(text);
      return view;
    }
    const failure: { readonly errors?: readonly { readonly detail?: string }[] } = JSON.parse(text);
    return {
      fault: failure.errors?.[0]?.detail ?? `The admin listener responded with ${response.statusCode}.`,
    };
  } catch (error) {
    return {
      fault: `The admin listener at ${admin} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    };
  }
}
