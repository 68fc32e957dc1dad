import { type Command, InvalidArgumentError } from 'commander';
import type { RolloutRequest } from '../../rollout/rollout-view.ts';
import type { RolloutOptions } from '../rollout/rollout.ts';
import { addFormat, adminOption, DEFAULT_ADMIN, defaultCommand } from './shared-options.ts';

/** Defines `rollout`, which shows and changes the mode of V1 traffic in a running gateway. */
export function rollout(command: Command): void {
  command.description(
    'Shows and changes the modes of a running gateway through its admin listener. The token is read from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE.',
  );
  common(defaultCommand(command, 'show'))
    .description('show modes, canaries, roll-backs and the results of shadowing')
    .action((options: RolloutOptions) => carryOut(options, undefined));
  for (const [mode, words] of MODES) {
    const modeCommand = targeted(common(command.command(mode))).description(words);
    (mode === 'migrate' ? forced(modeCommand) : modeCommand).action((options: RolloutOptions) =>
      carryOut(options, { mode, ...targetOf(options) }),
    );
  }
  forced(targeted(common(command.command('canary'))))
    .description('migrate a share of the clients, observe the others')
    .argument('<percent>', 'share of the clients', readShare)
    .action((share: number, options: RolloutOptions) =>
      carryOut(options, { mode: 'canary', share, ...targetOf(options) }),
    );
  targeted(common(command.command('clear')))
    .description('return to the mode of the rule book')
    .action((options: RolloutOptions) => carryOut(options, targetOf(options)));
}

const MODES: readonly (readonly [mode: NonNullable<RolloutRequest['mode']>, words: string])[] = [
  ['observe', 'V1 responds; the log says what a migration would have changed'],
  ['shadow', 'as observe, and reads are sent to both services and compared'],
  ['migrate', 'migrate every request'],
];

function common(command: Command): Command {
  return addFormat(command, ['text', 'json']).addOption(adminOption('admin listener', DEFAULT_ADMIN));
}

function targeted(command: Command): Command {
  return command
    .optionsGroup('Part of the traffic:')
    .option('--operation <id>', 'apply to this operation only')
    .option('--client <name>', 'apply to this client only (hash or name)');
}

function forced(command: Command): Command {
  return command
    .optionsGroup('Checks:')
    .option('--force', "go on although V2's schema refuses too many of the checked bodies");
}

function readShare(text: string): number {
  const share = /^\d{1,3}(?:\.\d+)?%?$/.test(text) ? Number.parseFloat(text) : 0;
  if (share > 0 && share <= 100) return share;
  throw new InvalidArgumentError('It must be a number above 0, and of at most 100.');
}

function targetOf({ operation, client, force }: RolloutOptions): RolloutRequest {
  return {
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
    ...(force === undefined ? {} : { force }),
  };
}

async function carryOut(options: RolloutOptions, request: RolloutRequest | undefined): Promise<void> {
  const { carryOutRollout } = await import('../rollout/rollout.ts');
  await carryOutRollout(options, request);
}
