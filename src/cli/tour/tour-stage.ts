import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClientHash } from '../../node/client-hash.ts';
import { DEPRECATED_ATTRIBUTE } from '../demo/demo-requests.ts';
import type { ProcessLog } from '../process-log.ts';
import { type Serving, startServing } from '../serve/serving.ts';
import { ReferenceProcess } from './reference-process.ts';
import { TourAdmin } from './tour-admin.ts';
import { Fleet, FLEET } from './tour-fleet.ts';
import { firstRuleBook } from './tour-rules.ts';

/** Selects the clients of a share, the same ones in every tour. It guards nothing: the keys of the fleet are made up. */
const SECRET = 'the secret of the tour';

/** The rule book that ships, wherever the demo is started. */
const SHIPPED_RULES = new URL('../../../config/rules.yaml', import.meta.url);

/** How the stage is set up. */
export interface StageOptions {
  /** The program that starts reference services: its launcher or its main. */
  readonly program: string;
  readonly listen: string;
  readonly adminListen: string;
}

/** Everything that the tour plays on: V1, V2, a gateway before both, the fleet, and a temporary folder with all files. */
export interface Stage {
  readonly folder: string;
  readonly rulesPath: string;
  readonly v1: ReferenceProcess;
  readonly v2: ReferenceProcess;
  readonly serving: Serving;
  readonly admin: TourAdmin;
  readonly fleet: Fleet;
  /** Names of clients by hash. */
  readonly names: ReadonlyMap<string, string>;
  /** Stops everything and removes the folder. */
  readonly close: () => Promise<void>;
  /** Does the same at once, when the process is about to exit. */
  readonly abandon: () => void;
}

/** Starts the stage; returns the faults when the gateway cannot start, and leaves nothing behind. */
export async function openStage(
  options: StageOptions,
): Promise<Stage | { readonly faults: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'capture-gateway-demo-'));
  const services: ReferenceProcess[] = [];
  let serving: Serving | undefined;
  const abandon = (): void => {
    for (const service of services) service.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', abandon);
  const close = async (): Promise<void> => {
    await serving?.life.stop();
    await serving?.life.flush();
    await Promise.all(services.map((service) => service.stop()));
    abandon();
    process.removeListener('exit', abandon);
  };
  try {
    const rulesPath = join(folder, 'rules.yaml');
    writeFileSync(rulesPath, firstRuleBook(readFileSync(SHIPPED_RULES, 'utf8')));
    const hash = createClientHash(SECRET);
    const names = new Map(FLEET.map(({ name, key }) => [hash(key), name]));
    writeFileSync(join(folder, 'names.json'), JSON.stringify(Object.fromEntries(names)));
    const common = ['--db', join(folder, 'data.db'), '--deprecated', DEPRECATED_ATTRIBUTE];
    // One after the other: the first makes the tables.
    const v1 = await ReferenceProcess.start(options.program, ['--dialect', 'v1', ...common]);
    services.push(v1);
    const v2 = await ReferenceProcess.start(options.program, ['--dialect', 'v2', ...common]);
    services.push(v2);
    // As a file, which is read before the first request comes.
    const descriptionPath = join(folder, 'v2.json');
    writeFileSync(descriptionPath, await (await fetch(`${v2.origin}/api/v2/openapi.json`)).text());
    const started = await startServing(
      {
        listen: options.listen,
        'admin-listen': options.adminListen,
        upstream: v2.origin,
        'v1-upstream': v1.origin,
        'v2-openapi': descriptionPath,
        rules: rulesPath,
        'log-file': join(folder, 'rewrite.log'),
        'client-names': join(folder, 'names.json'),
        'client-secret': SECRET,
        'structure-rate': '1000',
        capture: 'bodies',
        'drain-delay': '0',
      },
      {},
      QUIET,
    );
    if ('faults' in started) {
      await close();
      return started;
    }
    serving = started;
    const admin = new TourAdmin(started.running.adminOrigin);
    return {
      folder,
      rulesPath,
      v1,
      v2,
      serving,
      admin,
      fleet: new Fleet(started.running.origin),
      names,
      close,
      abandon,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The tour tells what the gateway does. */
const QUIET: ProcessLog = { write: () => {}, flush: () => Promise.resolve() };
