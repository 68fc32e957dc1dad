import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TwinOptions } from '../twin/twin.ts';
import { OUTPUT, rulesOption } from './shared-options.ts';

/**
 * Defines `twin`, which plays V1 requests to V1 and to the gateway before V2, and compares the responses. Exit codes: 0 all alike, or
 * different by a documented choice; 1 some different, nothing found on either side, or a script with faults; 2 usage.
 */
export function twin(command: Command): void {
  command
    .description(
      'Plays scripts of V1 requests to V1 and to the gateway before V2, and lists every difference of the responses: status, header fields, body. Without --v1 and --v2 it starts the reference service in both versions and a gateway. Differences by a documented choice, such as the refusal of a member that occurs twice, are counted by its name. So are exchanges that both sides find nowhere (404). Exit code 0 if all others are alike, 1 if some are different or nothing was found, 2 for a usage error.',
    )
    .optionsGroup('Requests:')
    .option('--script <files...>', 'scripts to play instead of those that come with the program', [])
    .option('--sequences <n>', 'random sequences of requests to play after the scripts', wholeNumber, 0)
    .option('--long', 'play 20,000 random sequences')
    .option('--seed <n>', 'seed of the random sequences', wholeNumber)
    .optionsGroup('Services that run:')
    .option('--v1 <url>', 'a V1 that runs; its requests are safe methods only, unless --writes is given')
    .option('--v2 <url>', 'a gateway that runs, before the V2 of the same service')
    .option('--key-file <file>', 'file with the API key for --v1 and --v2')
    .option('--writes', 'also send requests that change data to --v1 and --v2')
    .option('--rate <n>', 'maximum requests a minute to each of --v1 and --v2 (default: 60)', wholeNumber)
    .optionsGroup('Gateway:')
    .addOption(
      new Option('--on <runtime>', 'runtime of the gateway; node-server leaves the fast path out')
        .choices(['node', 'node-server', 'bun', 'deno', 'workerd'])
        .default('node'),
    )
    .addOption(rulesOption('rule book of the gateway'))
    .optionsGroup(OUTPUT)
    .option('--ignore <fields...>', 'response header fields not to compare', [])
    .option('--json', 'print JSON')
    .action(async (options: TwinOptions) => {
      const { runTwin } = await import('../twin/twin.ts');
      await runTwin(options);
    });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number of at most 10 digits.');
  return Number(text);
}
