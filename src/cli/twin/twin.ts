import { existsSync } from 'node:fs';
import { startRuntimeGateway } from '../../node/twin/runtime-gateway.ts';
import { startTwinServices } from '../../node/twin/twin-services.ts';
import { isWrite, type Script } from '../../twin/script.ts';
import { TwinTally } from '../../twin/tally.ts';
import { isFault, openRuleBook } from '../command-fault.ts';
import type { CommandFault } from '../command-fault.ts';
import { FAILURE, NOT_STARTED, SUCCESS } from '../exit-codes.ts';
import { readKeyFile } from './key-file.ts';
import { terminalOf } from '../terminal/terminal.ts';
import { loadScripts } from './twin-scripts.ts';
import { realStage, referenceStage, type TwinStage } from './twin-stage.ts';
import { twinJson, twinText } from './twin-text.ts';
import { counted } from '../../report/text/number-text.ts';

/** Maximum requests a minute to each service that runs, unless the options say another. */
const DEFAULT_RATE = 60;

/** Options of `twin`. */
export interface TwinOptions {
  readonly script: readonly string[];
  readonly rules: string;
  readonly on: 'node' | 'node-server' | 'bun' | 'deno' | 'workerd';
  readonly sequences: number;
  readonly long?: true;
  readonly seed?: number;
  readonly v1?: string;
  readonly v2?: string;
  readonly keyFile?: string;
  readonly writes?: true;
  readonly rate?: number;
  readonly ignore: readonly string[];
  readonly json?: true;
}

/** Plays the scripts, prints the differences and sets the exit code. */
export async function runTwin(options: TwinOptions): Promise<void> {
  try {
    process.exitCode = await run(options);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.exitCode = fail([error.message]);
  }
}

async function run(options: TwinOptions): Promise<number> {
  const isReal = options.v1 !== undefined || options.v2 !== undefined;
  const unused = isReal ? undefined : unusedOption(options);
  if (unused !== undefined) return fail([`${unused} is for services that run: it requires --v1 and --v2.`]);
  const loaded = loadScripts(options.script, isReal ? 'any' : 'reference');
  if ('faults' in loaded) return fail(loaded.faults, loaded.isMissing ? NOT_STARTED : FAILURE);
  return isReal ? playReal(options, loaded.scripts) : playReference(options, loaded.scripts);
}

/** An option that has no effect on the reference services. */
function unusedOption({ keyFile, writes, rate }: TwinOptions): string | undefined {
  if (keyFile !== undefined) return '--key-file';
  if (writes === true) return '--writes';
  return rate === undefined ? undefined : '--rate';
}

async function playReal(options: TwinOptions, scripts: readonly Script[]): Promise<number> {
  const { v1, v2, keyFile, writes, rate = DEFAULT_RATE } = options;
  if (v1 === undefined || v2 === undefined || keyFile === undefined)
    return fail(['--v1, --v2 and --key-file belong together.']);
  if (options.long === true || options.sequences > 0)
    return fail(['Random sequences are for the reference services: leave --v1 and --v2 out.']);
  const wrong = [v1, v2].find((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''));
  if (wrong !== undefined) return fail([`${wrong} is no http or https address.`]);
  const key = readKeyFile(keyFile);
  if (typeof key !== 'string') return failWith(key);
  const stage = realStage({
    v1,
    gateway: v2,
    key,
    isReadOnly: writes !== true,
    rate: Math.max(1, rate),
    ignored: new Set(options.ignore.map((name) => name.toLowerCase())),
  });
  const count = scripts
    .flatMap(({ exchanges }) => exchanges)
    .filter((one) => writes === true || !isWrite(one)).length;
  process.stderr.write(`Playing ${counted(count, 'exchange')}, ${rate} a minute.\n`);
  return report(await playAll(stage, scripts), options);
}

async function playReference(options: TwinOptions, scripts: readonly Script[]): Promise<number> {
  const { rules } = options;
  const sequences = options.long === true ? 20_000 : options.sequences;
  if (sequences > 0 && !hasFastCheck())
    return fail(['Random sequences need a checkout of the repository, after npm ci.']);
  const workerd = new URL('../../../deploy/edge/node_modules/workerd', import.meta.url);
  if (options.on === 'workerd' && !existsSync(workerd))
    return fail(['workerd needs a checkout of the repository, after `npm ci --prefix deploy/edge`.']);
  const book = await openRuleBook(rules);
  if (isFault(book)) return fail([book.fault]);
  const services = await startTwinServices();
  const runtime = options.on === 'node-server' ? 'node' : options.on;
  try {
    const gateway =
      runtime === 'workerd'
        ? await (await import('./twin-workerd.ts')).startWorkerdGateway(services.v2, rules)
        : await startRuntimeGateway(runtime, process.argv[1] ?? '', services.v2, rules);
    // An old field of clients, which the fast path leaves to Node's own server.
    const fields = options.on === 'node-server' ? [['Proxy-Connection', 'keep-alive'] as const] : [];
    const stage = referenceStage(services, gateway.origin, { fields });
    try {
      const tally = await playAll(stage, scripts);
      const failing =
        sequences === 0 ? undefined : await playSequences(stage, sequences, options.seed, tally);
      const code = report(tally, options);
      if (failing !== undefined) process.stdout.write(`\n${failing}`);
      return failing === undefined ? code : FAILURE;
    } finally {
      stage.close();
      await gateway.stop();
    }
  } finally {
    services.close();
  }
}

async function playAll(stage: TwinStage, scripts: readonly Script[]): Promise<TwinTally> {
  const tally = new TwinTally();
  for (const script of scripts) {
    for await (const played of stage.play(script)) tally.add(played);
  }
  return tally;
}

/** Plays random sequences; returns the shortest one that fails, as a script to play again. */
async function playSequences(
  stage: TwinStage,
  count: number,
  seed: number | undefined,
  tally: TwinTally,
): Promise<string | undefined> {
  const { randomSequences } = await import('./twin-random.ts');
  return randomSequences(stage, { count, seed: seed ?? Date.now() & 0x7fffffff, tally });
}

/** An installed package has neither fast-check nor workerd. */
function hasFastCheck(): boolean {
  try {
    import.meta.resolve('fast-check');
    return true;
  } catch {
    return false;
  }
}

function report(tally: TwinTally, { json }: TwinOptions): number {
  process.stdout.write(
    json === true ? twinJson(tally.report) : twinText(tally.report, terminalOf(process.stdout)),
  );
  const { played, missing, different } = tally.report;
  // Where nothing was found at all, nothing was shown.
  return different.length === 0 && (played === 0 || missing < played) ? SUCCESS : FAILURE;
}

function failWith({ fault, isJunk }: CommandFault): number {
  return fail([fault], isJunk === true ? FAILURE : NOT_STARTED);
}

function fail(faults: readonly string[], code: number = NOT_STARTED): number {
  process.stderr.write(faults.map((fault) => `twin: ${fault}\n`).join(''));
  return code;
}
