import { readFileSync } from 'node:fs';
import { readSecret } from '../settings/read-settings.ts';
import { type Setting, settings as table } from '../settings/settings.ts';
import { AdminClient } from './admin-client.ts';
import type { CommandFault } from './command-fault.ts';

/** Reads a secret of the gateway as the gateway itself does. */
export function secretOf(setting: Setting<string | undefined>): ReturnType<typeof readSecret> {
  return readSecret(setting, {
    flags: {},
    environment: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
  });
}

/** Returns a client of the admin listener at `url` that knows the token of the environment. */
export function openAdmin(url: string): AdminClient | CommandFault {
  const read = secretOf(table.adminToken);
  return 'fault' in read ? read : new AdminClient({ url, token: read.secret });
}
