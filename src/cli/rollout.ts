import { type Command, Option } from 'commander';
import type { RolloutRequest, RolloutView } from '../rollout/rollout-view.ts';
import { type AdminAddress, askAdmin } from './admin-source.ts';
import { rolloutText } from './rollout-text.ts';

interface RolloutOptions {
  readonly admin: string;
  readonly format: 'text' | 'json';
  readonly operation?: string;
  readonly client?: string;
}

/** Adds the command `rollout`, which shows and changes what V1 traffic goes through, in a running gateway. */
export function rollout(program: Command): void {
  const command = program
    .command('rollout')
    .summary('show and change what V1 traffic goes through')
    .description(
      'Shows and changes the modes of a running gateway by its admin listener, whose token is in GATEWAY_ADMIN_TOKEN.',
    );
  common(command.command('show', { isDefault: true }))
    .description('shows modes, canaries, roll-backs and what shadowing found')
    .action((options: RolloutOptions) => carryOut(options, undefined));
  for (const [mode, words] of MODES) {
    aimed(common(command.command(mode)))
      .description(words)
      .action((options: RolloutOptions) => carryOut(options, { mode, ...aimOf(options) }));
  }
  aimed(common(command.command('canary')))
    .description('a share of the clients is migrated, the rest is observed')
    .argument('<percent>', 'of the clients')
    .action((percent: string, options: RolloutOptions) =>
      carryOut(options, { mode: 'canary', share: Number(percent.replace(/%$/, '')), ...aimOf(options) }),
    );
  aimed(common(command.command('clear')))
    .description('lets the rule book choose again')
    .action((options: RolloutOptions) => carryOut(options, aimOf(options)));
}

const MODES: readonly (readonly [mode: NonNullable<RolloutRequest['mode']>, words: string])[] = [
  ['observe', 'V1 responds; the log says what migrating would have done'],
  ['shadow', 'as observe, and reads are asked of both origins and compared'],
  ['migrate', 'everything is migrated'],
];

function common(command: Command): Command {
  return command
    .addOption(new Option('--admin <url>', 'the admin listener').default('http://127.0.0.1:8081'))
    .addOption(new Option('--format <format>', 'what is printed').choices(['text', 'json']).default('text'));
}

function aimed(command: Command): Command {
  return command
    .option('--operation <id>', 'for this operation only')
    .option('--client <name>', 'for this client only: its hash or its name');
}

function aimOf({ operation, client }: RolloutOptions): RolloutRequest {
  return {
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
  };
}

async function carryOut(options: RolloutOptions, request: RolloutRequest | undefined): Promise<void> {
  const address: AdminAddress = { url: options.admin, token: process.env['GATEWAY_ADMIN_TOKEN'] };
  const outcome = await ask(address, request);
  if ('fault' in outcome) {
    process.stderr.write(`${outcome.fault}\n`);
    process.exitCode = 1;
    return;
  }
  process.stdout.write(options.format === 'json' ? `${JSON.stringify(outcome)}\n` : rolloutText(outcome));
}

async function ask(
  address: AdminAddress,
  request: RolloutRequest | undefined,
): Promise<RolloutView | { readonly fault: string }> {
  let response: Response;
  try {
    response = await askAdmin(
      address,
      '/rollout',
      {},
      request === undefined ? undefined : JSON.stringify(request),
    );
  } catch {
    return { fault: `Nobody responds at ${address.url}; name the admin listener with --admin.` };
  }
  if (response.ok) {
    const view: RolloutView = await response.json();
    return view;
  }
  if (response.status === 401)
    return { fault: 'The admin listener wants its token; set GATEWAY_ADMIN_TOKEN.' };
  const body: { readonly errors?: readonly { readonly detail?: string }[] } = await response
    .json()
    .catch(() => ({}));
  return { fault: body.errors?.[0]?.detail ?? `The admin listener responded with ${response.status}.` };
}
