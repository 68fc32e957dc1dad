import type { RolloutRequest, RolloutView } from '../../rollout/rollout-view.ts';
import { terminalLines } from '../../report/text/untrusted-text.ts';
import type { AdminClient } from '../admin-client.ts';
import { type CommandFault, endWith, isFault } from '../command-fault.ts';
import { rolloutText } from './rollout-text.ts';
import { openAdmin } from '../secret.ts';
import { terminalOf } from '../terminal/terminal.ts';

/** Options of every command below `rollout`. */
export interface RolloutOptions {
  readonly admin: string;
  readonly format: 'text' | 'json';
  readonly operation?: string;
  readonly client?: string;
  readonly force?: boolean;
}

/** Shows the rollout, or changes it as `request` says; prints the state after it and sets the exit code. */
export async function carryOutRollout(
  options: RolloutOptions,
  request: RolloutRequest | undefined,
): Promise<void> {
  const client = openAdmin(options.admin);
  const outcome = isFault(client) ? client : await ask(client, request);
  if (isFault(outcome)) {
    endWith({ ...outcome, fault: terminalLines(outcome.fault) });
    return;
  }
  process.stdout.write(
    options.format === 'json'
      ? `${JSON.stringify(outcome)}\n`
      : rolloutText(outcome, terminalOf(process.stdout)),
  );
}

async function ask(
  client: AdminClient,
  request: RolloutRequest | undefined,
): Promise<RolloutView | CommandFault> {
  let status: number;
  let text: string;
  try {
    const response = await client.ask(
      '/rollout',
      {},
      request === undefined ? undefined : JSON.stringify(request),
    );
    status = response.statusCode;
    text = await response.body.text();
  } catch {
    return { fault: `No response from ${client.url}; name the admin listener with --admin.` };
  }
  if (status === 200) {
    const view: RolloutView = JSON.parse(text);
    return view;
  }
  if (status === 401) return { fault: client.refusal(status) };
  const detail = detailOf(text);
  if (status === 404 && detail !== undefined)
    return { fault: `${client.url} is not the admin listener; name that with --admin. It says: ${detail}` };
  return { fault: detail ?? client.refusal(status), isJunk: true };
}

function detailOf(text: string): string | undefined {
  try {
    const body: { readonly errors?: readonly { readonly detail?: string }[] } = JSON.parse(text);
    return body.errors?.[0]?.detail;
  } catch {
    return undefined;
  }
}
