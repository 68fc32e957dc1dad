import type { Command } from 'commander';
import type { CheckOptions, RecordOptions } from '../explain/replay.ts';
import { addFormat, adminOption, OUTPUT, rulesOption } from './shared-options.ts';

/** Defines `replay`: `record` writes requests to a fixture, `check` holds a changed rule book against it. */
export function replay(command: Command): void {
  command.description(
    'Records requests with their outcome in a fixture, and lists those whose outcome changes under another rule book.',
  );
  const record = command
    .command('record')
    .description('Records requests with their current outcome in a fixture, one JSON line each.')
    .optionsGroup('Requests:')
    .option('--har <file>', 'record the requests of a HAR file')
    .option('--postman <file>', 'record the requests of a Postman collection')
    .option('--log <file>', 'record requests reconstructed from a rewrite log, without values')
    .addOption(
      adminOption(
        'record the requests captured by a running gateway; its token is read from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE',
      ),
    )
    .addOption(rulesOption())
    .optionsGroup(OUTPUT)
    .requiredOption('--out <file>', 'fixture to write');
  addFormat(record, ['text', 'json']).action(async (options: RecordOptions) => {
    const { recordRequests } = await import('../explain/replay.ts');
    await recordRequests(options);
  });
  const check = command
    .command('check')
    .description(
      'Lists the requests of a fixture whose outcome changes under the current rule book. Exit code 1 if there are any.',
    )
    .argument('<fixture>', 'fixture that `replay record` wrote')
    .addOption(rulesOption());
  addFormat(check, ['text', 'json'])
    .optionsGroup(OUTPUT)
    .option('--update', 'write the current outcomes to the fixture')
    .action(async (fixture: string, options: CheckOptions) => {
      const { checkFixture } = await import('../explain/replay.ts');
      await checkFixture(fixture, options);
    });
}
