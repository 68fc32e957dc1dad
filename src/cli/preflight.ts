import { readFileSync } from 'node:fs';
import { readSettings, type Settings } from '../settings/read-settings.ts';
import { settings as table } from '../settings/settings.ts';
import { adminFault } from '../node/admin/operators.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';
import type { LoadedRuleBook } from '../node/rule-books.ts';
import { readTlsFiles, type TlsTexts } from '../node/tls-files.ts';
import { workersFault } from './worker-front.ts';

/** Settings, rule book and certificates that have been found sound. */
export interface Preflight {
  readonly settings: Settings;
  readonly rulesPath: string;
  readonly ruleBook: LoadedRuleBook;
  /** PEM texts for TLS to V2. */
  readonly upstreamTls: TlsTexts | undefined;
  /** PEM texts for TLS with clients. */
  readonly clientTls: TlsTexts | undefined;
}

/** Reads everything that is needed to start, or finds all that is wrong with it at once; starts nothing. */
export async function preflight(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Preflight | { readonly faults: readonly string[] }> {
  const read = readSettings({ flags, environment, readFile: (path) => readFileSync(path, 'utf8') });
  const rulesPath = flags['rules'] ?? environment['GATEWAY_RULES'] ?? table.rules.value;
  const ruleBook = await loadRuleBook(rulesPath);
  const faults = 'faults' in ruleBook ? ruleBook.faults : [];
  if ('faults' in read) return { faults: [...read.faults, ...faults] };
  const { settings } = read;
  const upstreamTls = upstreamFiles(settings);
  const clientTls = clientFiles(settings);
  const all = [
    ...[adminFault(settings), workersFault(settings), sharedAddressFault(settings)].filter(
      (fault) => fault !== undefined,
    ),
    ...[upstreamTls, clientTls].flatMap((outcome) => ('fault' in outcome ? [outcome.fault] : [])),
    ...faults,
  ];
  if (all.length > 0 || 'faults' in ruleBook || 'fault' in upstreamTls || 'fault' in clientTls)
    return { faults: all };
  return { settings, rulesPath, ruleBook, upstreamTls: upstreamTls.tls, clientTls: clientTls.tls };
}

/** Reads the files of the certificates for clients. */
export function clientFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({
    cert: { setting: 'tls-cert', path: settings.get(table.tlsCert) },
    key: { setting: 'tls-key', path: settings.get(table.tlsKey) },
  });
}

function upstreamFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({
    ca: { setting: 'upstream-ca', path: settings.get(table.upstreamCa) },
    cert: { setting: 'upstream-cert', path: settings.get(table.upstreamCert) },
    key: { setting: 'upstream-key', path: settings.get(table.upstreamKey) },
  });
}

function sharedAddressFault(settings: Settings): string | undefined {
  const [clients, admin] = [settings.get(table.listen), settings.get(table.adminListen)];
  if (clients.port === 0 || clients.port !== admin.port || clients.host !== admin.host) return undefined;
  return `--listen and --admin-listen are both ${clients.host}:${clients.port}; give one of them another port.`;
}
