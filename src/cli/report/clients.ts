import { stdin, stdout } from 'node:process';
import type { ClientsView } from '../../inspector/api.ts';
import { nameClient } from '../../node/admin/names.ts';
import { createClientHash } from '../../node/runtime.ts';
import { jsonText, terminalText } from '../../report/text.ts';
import { shortSecret } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import { printColumns, terminalOf } from '../terminal.ts';
import { type CommandFault, isFault } from '../command-fault.ts';
import { openAdmin, secretOf } from '../admin-client.ts';
import { givenSetting } from '../settings-file.ts';

export interface NameOptions {
  readonly names?: string;
  readonly admin?: string;
  readonly config?: string;
  readonly format: Format;
}

type Format = 'text' | 'json';

/** Prints the hash of the API key on stdin. */
export async function printHash({ format, config }: NameOptions): Promise<CommandFault | undefined> {
  const read = await secretOf(table.clientSecret, config);
  if ('fault' in read) return read;
  const { secret, name } = read;
  if (secret === undefined)
    return {
      fault:
        'Set GATEWAY_CLIENT_SECRET to the secret of the gateway, or GATEWAY_CLIENT_SECRET_FILE to a file that contains it: without one, hashes change at each start.',
    };
  const short = shortSecret(secret, name);
  if (short !== undefined) return { fault: short };
  if (stdin.isTTY) process.stderr.write('Enter the API key, then Ctrl-D:\n');
  let input = '';
  // As in the gateway, which reads header fields as bytes in any encoding.
  for await (const chunk of stdin.setEncoding('latin1')) input += String(chunk);
  const key = input.trim();
  if (key === '' || /[\r\n]/.test(key)) return { fault: 'Give one API key on stdin.' };
  const client = createClientHash(secret)(key);
  return print(format === 'json' ? `${jsonText({ client })}\n` : `${client}\n`);
}

/** Names a client, or removes its name. */
export async function giveName(
  client: string,
  name: string | undefined,
  { names, admin, format, config }: NameOptions,
): Promise<CommandFault | undefined> {
  const read = await givenSetting(table.clientNames, { 'client-names': names, config });
  if ('faults' in read) return { fault: read.faults.join('\n') };
  const path = read.value;
  const out =
    format === 'json'
      ? `${jsonText({ client, name: name?.trim() ?? null })}\n`
      : name === undefined
        ? `${client} has no name now.\n`
        : `${client} is called ${name.trim()}.\n`;
  if (admin !== undefined) {
    const body = JSON.stringify(name === undefined ? { client } : { client, name });
    const response = await ask(admin, body, config);
    return 'fault' in response ? response : print(out);
  }
  if (path === undefined)
    return {
      fault:
        'Say where to keep the name: --admin for a running gateway, or --names for a file (GATEWAY_CLIENT_NAMES).',
    };
  return nameClient(path, client, name) ?? print(out);
}

/** Prints the clients that a running gateway knows. */
export async function listClients({
  admin,
  format,
  config,
}: NameOptions & { readonly admin: string }): Promise<CommandFault | undefined> {
  const response = await ask(admin, undefined, config);
  if ('fault' in response) return response;
  if (format === 'json') return print(`${jsonText(response, 2)}\n`);
  const rows = response.clients.map(({ client, name, userAgents, addresses }) =>
    [client, name ?? '-', userAgents[0] ?? '-', addresses[0] ?? '-'].map(terminalText),
  );
  if (rows.length === 0) return print('No client was seen yet, and none has a name.\n');
  const { columns } = terminalOf(stdout);
  return print(`${printColumns(['client', 'name', 'user agent', 'address'], rows, { columns })}\n`);
}

function print(text: string): undefined {
  process.stdout.write(text);
  return undefined;
}

async function ask(
  admin: string,
  body: string | undefined,
  config: string | undefined,
): Promise<ClientsView | CommandFault> {
  const client = await openAdmin(admin, config);
  if (isFault(client)) return client;
  return client.view<ClientsView>('/clients', 'clients', body);
}
