import { once } from 'node:events';
import { type Command, Option } from 'commander';
import { ReferenceFault, startReference, type RunningReference } from '../node/reference-server.ts';
import {
  readReferenceSettings,
  referenceDefaults,
  type ReferenceSettings,
  type ReferenceTexts,
} from '../node/reference-settings.ts';

/** Adds the command `reference`, which runs the V2 reference service alone until SIGTERM or SIGINT. */
export function reference(program: Command): void {
  program
    .command('reference')
    .summary('run the V2 reference service alone')
    .description('Runs the V2 service of the specification, small and real. Any API key is accepted.')
    .addOption(
      new Option('--listen <host:port>', 'address to listen on; port 0 takes a free one')
        .env('GATEWAY_REFERENCE_LISTEN')
        .default(referenceDefaults.listen),
    )
    .addOption(
      new Option('--db <file>', 'SQLite file to keep data in (default: memory)').env('GATEWAY_REFERENCE_DB'),
    )
    .addOption(
      new Option(
        '--unknown <refuse|strip>',
        'attributes that V2 does not have: answer 422, or drop them silently',
      )
        .env('GATEWAY_REFERENCE_UNKNOWN')
        .default(referenceDefaults.unknown),
    )
    .addOption(
      new Option('--rate <n>', 'requests a minute for each API key; 0 is no limit')
        .env('GATEWAY_REFERENCE_RATE')
        .default(referenceDefaults.rate),
    )
    .action(async (texts: ReferenceTexts) => {
      process.exitCode = await run(texts);
    });
}

/** Answers the exit code. */
async function run(texts: ReferenceTexts): Promise<number> {
  const settings = readReferenceSettings(texts);
  if (!('listen' in settings)) return fail(settings);
  try {
    const running = await startReference({ ...settings, report });
    process.stderr.write(banner(running, settings));
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    await running.close();
    return 0;
  } catch (error) {
    if (error instanceof ReferenceFault) return fail([error.message]);
    throw error;
  }
}

function fail(faults: readonly string[]): number {
  process.stderr.write(faults.map((fault) => `reference: ${fault}\n`).join(''));
  return 2;
}

function report(error: unknown): void {
  process.stderr.write(`reference: ${error instanceof Error ? error.stack : String(error)}\n`);
}

function banner({ origin }: RunningReference, { listen, db, unknown, rate }: ReferenceSettings): string {
  const open = ['127.0.0.1', '::1', 'localhost'].includes(listen.host);
  return [
    `V2 reference service on ${origin}`,
    `  data      ${db ?? 'in memory, gone when it stops'}`,
    `  unknown   attributes that V2 does not have are ${unknown === 'refuse' ? 'refused with 422' : 'stripped silently'}`,
    `  rate      ${rate === 0 ? 'no limit' : `${rate} requests a minute for each API key`}`,
    `  API       ${origin}/api/v2/openapi.json`,
    ...(open ? [] : ['  careful   others can reach this address, and any API key is accepted']),
    '',
    `curl ${origin}/api/v2/clients -H 'authorization: Bearer any-key' -H 'content-type: application/json' \\`,
    `  -d '{"name":"Harbour Realty"}'`,
    '',
  ].join('\n');
}
