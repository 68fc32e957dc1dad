import { once } from 'node:events';
import type { ListenAddress } from '../../settings/setting-kinds.ts';
import type { Setting } from '../../settings/settings.ts';
import { ReferenceFault, type ReferenceOptions, startReference } from '../../node/reference.ts';
import { NOT_STARTED, SUCCESS } from '../command-fault.ts';
import { type Fact, factLines, reachable, terminalOf } from '../terminal.ts';
import { camelCase, referenceGroups } from '../setting-options.ts';
import { counted } from '../../rules/words.ts';

/** Runs the service until it receives a signal, and sets the exit code. */
export async function runReference(texts: Readonly<Record<string, string | undefined>>): Promise<void> {
  process.exitCode = await run(texts);
}

async function run(texts: Readonly<Record<string, string | undefined>>): Promise<number> {
  const faults: string[] = [];
  const read = <Value>(setting: Setting<Value>): Value => {
    const text = texts[camelCase(setting.name)] || setting.initial;
    const outcome = text === undefined ? { value: setting.value } : setting.kind.read(text);
    if ('value' in outcome) return outcome.value;
    faults.push(`--${setting.name} ${outcome.fault}, not ${JSON.stringify(text)}.`);
    return setting.value;
  };
  const { 'Service:': service, 'Versions:': versions, 'API keys:': keys } = referenceGroups;
  const listen = read(service.listen);
  const db = read(service.db);
  const unknown = read(versions.unknown);
  const rate = read(keys.rate);
  const dialect = read(versions.dialect);
  const facts = {
    db,
    unknown,
    rate,
    dialects: dialect === 'both' ? (['v1', 'v2'] as const) : [dialect],
    releases: read(versions.release),
    deprecated: read(versions.deprecated),
    deprecationsIn: read(versions.deprecations),
    readOnlyKeys: read(keys.readOnly),
    failingKeys: read(keys.failing),
  };
  if (faults.length > 0) return fail(faults);
  try {
    const running = await startReference({ ...facts, listen, report });
    // Before it prints the address, whose reader may stop the service at once.
    const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    process.stderr.write(banner(reachable(running.origin), listen, facts));
    await stopped;
    await running.close();
    return SUCCESS;
  } catch (error) {
    if (error instanceof ReferenceFault) return fail([`--${error.option} ${error.message}`]);
    throw error;
  }
}

function fail(faults: readonly string[]): number {
  process.stderr.write(faults.map((fault) => `reference: ${fault}\n`).join(''));
  return NOT_STARTED;
}

function report(error: unknown): void {
  process.stderr.write(`reference: ${error instanceof Error ? error.stack : String(error)}\n`);
}

function banner(
  origin: string,
  { host }: ListenAddress,
  facts: Required<Omit<ReferenceOptions, 'listen' | 'report' | 'bodyLimit'>>,
): string {
  const { db, unknown, rate, dialects, releases, deprecated } = facts;
  const [first = 'v2'] = dialects.toReversed();
  const loopback = ['127.0.0.1', '::1', 'localhost'].includes(host);
  const lines: readonly Fact[] = [
    ['data', db ?? 'in memory, gone when it stops'],
    [
      'unknown',
      `attributes that a version does not have are ${unknown === 'refuse' ? 'refused with 422' : 'stripped silently'}`,
    ],
    ...(deprecated.length === 0 ? [] : [['V1 only', deprecated.join(', ')] as const]),
    ...(dialects.includes('v2')
      ? [['releases', `${releases.join(', ')} of V2; without x-api-version the last`] as const]
      : []),
    ['rate', rate === 0 ? 'no limit' : `${counted(rate, 'request')} a minute for each API key`],
    ['API', `${origin}/api/${first}/openapi.json`],
    ...(loopback ? [] : [['careful', 'others can reach this address, and any API key is accepted'] as const]),
  ];
  return [
    `${dialects.map((name) => name.toUpperCase()).join(' and ')} reference service on ${origin}`,
    ...factLines(lines, 10, terminalOf(process.stderr).columns),
    '',
    `curl ${origin}/api/${first}/clients -H 'authorization: Bearer any-key' -H 'content-type: application/json' \\`,
    `  -d '${first === 'v1' ? '{"data":{"name":"Harbour Realty"}}' : '{"name":"Harbour Realty"}'}'`,
    '',
  ].join('\n');
}
