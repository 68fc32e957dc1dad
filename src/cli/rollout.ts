import { type Command, Option } from 'commander';
import type { RolloutRequest, RolloutView } from '../rollout/rollout-view.ts';
import { terminalLines } from '../report/untrusted-text.ts';
import { AdminClient } from './admin-client.ts';
import { rolloutText } from './rollout-text.ts';

interface RolloutOptions {
  readonly admin: string;
  readonly format: 'text' | 'json';
  readonly operation?: string;
  readonly client?: string;
  readonly force?: boolean;
}

/** Adds the command `rollout`, which shows and changes the mode of V1 traffic in a running gateway. */
export function rollout(program: Command): void {
  const command = program
    .command('rollout')
    .summary('show and change the mode of V1 traffic')
    .description(
      'Shows and changes the modes of a running gateway through its admin listener. The token is read from GATEWAY_ADMIN_TOKEN.',
    );
  common(command.command('show', { isDefault: true }))
    .description('show modes, canaries, roll-backs and the results of shadowing')
    .action((options: RolloutOptions) => carryOut(options, undefined));
  for (const [mode, words] of MODES) {
    const aimedCommand = aimed(common(command.command(mode))).description(words);
    (mode === 'migrate' ? forced(aimedCommand) : aimedCommand).action((options: RolloutOptions) =>
      carryOut(options, { mode, ...aimOf(options) }),
    );
  }
  forced(aimed(common(command.command('canary'))))
    .description('migrate a share of the clients, observe the others')
    .argument('<percent>', 'share of the clients')
    .action((percent: string, options: RolloutOptions) =>
      carryOut(options, { mode: 'canary', share: Number(percent.replace(/%$/, '')), ...aimOf(options) }),
    );
  aimed(common(command.command('clear')))
    .description('return to the mode of the rule book')
    .action((options: RolloutOptions) => carryOut(options, aimOf(options)));
}

const MODES: readonly (readonly [mode: NonNullable<RolloutRequest['mode']>, words: string])[] = [
  ['observe', 'V1 responds; the log says what a migration would have changed'],
  ['shadow', 'as observe, and reads are sent to both services and compared'],
  ['migrate', 'migrate every request'],
];

function common(command: Command): Command {
  return command
    .addOption(new Option('--admin <url>', 'admin listener').default('http://127.0.0.1:8081'))
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'));
}

function aimed(command: Command): Command {
  return command
    .option('--operation <id>', 'apply to this operation only')
    .option('--client <name>', 'apply to this client only (hash or name)');
}

function forced(command: Command): Command {
  return command.option('--force', "go on although V2's schema refuses too many of the checked bodies");
}

function aimOf({ operation, client, force }: RolloutOptions): RolloutRequest {
  return {
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
    ...(force === undefined ? {} : { force }),
  };
}

async function carryOut(options: RolloutOptions, request: RolloutRequest | undefined): Promise<void> {
  const client = new AdminClient({ url: options.admin, token: process.env['GATEWAY_ADMIN_TOKEN'] });
  const outcome = await ask(client, request);
  if ('fault' in outcome) {
    process.stderr.write(terminalLines(`${outcome.fault}\n`));
    process.exitCode = 1;
    return;
  }
  process.stdout.write(options.format === 'json' ? `${JSON.stringify(outcome)}\n` : rolloutText(outcome));
}

async function ask(
  client: AdminClient,
  request: RolloutRequest | undefined,
): Promise<RolloutView | { readonly fault: string }> {
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
  if (status === 401) return { fault: 'The admin listener requires its token; set GATEWAY_ADMIN_TOKEN.' };
  return { fault: detailOf(text) ?? `The admin listener responded with ${status}.` };
}

function detailOf(text: string): string | undefined {
  try {
    const body: { readonly errors?: readonly { readonly detail?: string }[] } = JSON.parse(text);
    return body.errors?.[0]?.detail;
  } catch {
    return undefined;
  }
}
