import { type LogQueue, type LogSink, openLogSink } from '../../node/log/log-sink.ts';
import { encodedLine } from '../../rewrite-log/entry-line.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { entryHead, entryRow } from '../entry-row.ts';
import { type Terminal, terminalOf } from '../terminal.ts';
import { type Settings, shortSecretOf } from '../../settings/read-settings.ts';
import { type Setting, settings as table } from '../../settings/settings.ts';
import type { ReloadedFile } from '../../node/clients/listen.ts';
import type { ProcessEvent, ProcessLevel, WriteProcessLine } from '../../node/log/process-log.ts';
import type { OpenRollout } from '../../node/rollout/open-rollout.ts';
import { type RuleBooks, transformFiles, secretFiles } from '../../node/rule-books.ts';
import type { RunningGateway } from '../../node/start-gateway.ts';
import {
  type CertificatesInUse,
  type CertificateUse,
  type TlsTexts,
  WatchedFiles,
  type WatchedGroup,
} from '../../node/files.ts';
import { clientFiles, type Preflight, storeFiles, upstreamFiles } from './preflight.ts';
import type { V2Description } from '../draft/v2-description.ts';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import type * as esbuild from 'esbuild';
import type { PageFile } from '../../inspector/api.ts';
import { bookChangeWords } from '../../inspector/rollout-effect.ts';
import { modesInForce } from '../../rollout/modes-in-force.ts';
import { DOCUMENT, pageDocument, pageFiles } from '../../inspector/inspector.ts';
import { systemReason } from '../../node/system-reason.ts';

/** The files of a serving gateway, and the parts that use them. */
interface ServingFilesParts extends Omit<Preflight, 'ruleBook'> {
  readonly running: RunningGateway;
  readonly ruleBooks: RuleBooks;
  readonly rollout: Pick<OpenRollout, 'control' | 'renewStoreCa'>;
  readonly certificates: CertificatesInUse;
  readonly description: V2Description | undefined;
  /** See `NamesFile.reload`. */
  readonly reloadNames: () => readonly string[];
  /** Display names of clients, by hash. */
  readonly names: () => ReadonlyMap<string, string>;
  /** Names the files with webhook secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: WriteProcessLine;
}

/** The files that a gateway reads at start, and again when they change. It refuses content with a fault, and keeps the previous one. */
export class ServingFiles {
  readonly watched: WatchedFiles;
  private readonly parts: ServingFilesParts;
  private readonly groups: readonly WatchedGroup[];
  private clientTls: TlsTexts | undefined;
  private upstreamTls: TlsTexts | undefined;

  /** `since` (milliseconds since 1970) is before the files were first read. */
  constructor(parts: ServingFilesParts, since: number) {
    this.parts = parts;
    this.clientTls = parts.clientTls;
    this.upstreamTls = parts.upstreamTls;
    this.groups = this.groupsOf(parts);
    const book: WatchedGroup = {
      get files() {
        const { ruleBook } = parts.ruleBooks.current;
        return [
          parts.rulesPath,
          ...transformFiles(ruleBook, parts.rulesPath),
          ...secretFiles(ruleBook, parts.environment),
        ];
      },
      reload: async () => {
        await this.reloadRuleBook(false);
        return [];
      },
      onFaults: () => {},
    };
    this.watched = new WatchedFiles([book, ...this.groups], since);
  }

  /** Reads all files again, and logs their faults at once. */
  async reload(): Promise<void> {
    await this.reloadRuleBook(true);
    for (const { files, reload, onFaults } of this.groups) {
      const faults = files.length === 0 ? [] : await reload();
      if (faults.length > 0) onFaults(faults);
    }
    // A description at an address is not watched.
    if (this.parts.description?.isRemote === true) await this.reloadFile('v2-openapi');
  }

  /** Reads a file again in all processes. */
  async reloadFile(what: ReloadedFile): Promise<void> {
    if (what === 'rule-book') await this.reloadRuleBook(false);
    else {
      await this.parts.description?.reload();
      this.parts.running.server.reload?.('v2-openapi');
    }
  }

  private groupsOf({ settings, log, reloadNames, description }: ServingFilesParts): readonly WatchedGroup[] {
    const refuse =
      (event: ProcessEvent, what: string, consequence: string) =>
      (faults: readonly string[]): void =>
        log({ level: 'error', event, message: `${what} refused: ${faults.join(' ')} ${consequence}` });
    const refuseCertificate = refuse('certificate-refused', 'certificate', 'The current one stays in use.');
    const filesOf = (...list: readonly Setting<string | undefined>[]): readonly string[] =>
      list.flatMap((setting) => settings.get(setting) ?? []);
    return [
      {
        files: filesOf(table.tlsCert, table.tlsKey),
        reload: () => this.reloadTls('clients'),
        onFaults: refuseCertificate,
      },
      {
        files: filesOf(table.upstreamCa, table.upstreamCert, table.upstreamKey),
        reload: () => this.reloadTls('v2'),
        onFaults: refuseCertificate,
      },
      { files: caOfStore(settings), reload: () => this.reloadStoreCa(), onFaults: refuseCertificate },
      {
        files: settings.secretFiles,
        reload: () => this.reloadSecrets(),
        onFaults: refuse('secret-refused', 'secret', 'The previous one stays in use.'),
      },
      {
        files: filesOf(table.clientNames),
        reload: reloadNames,
        onFaults: refuse('client-names-refused', 'names', 'The previous names stay.'),
      },
      {
        files: description?.files ?? [],
        reload: () => this.reloadDescription(),
        onFaults: (faults) => description?.refuse(faults.join(' ')),
      },
    ];
  }

  private async reloadRuleBook(isAsked: boolean): Promise<void> {
    const { ruleBooks, running, log, rollout, names } = this.parts;
    const { changed, wasRefused, faults, before } = await ruleBooks.reload();
    const { hash, rollout: declared } = ruleBooks.current.ruleBook;
    const logReload = (level: ProcessLevel, event: ProcessEvent, message: string): void =>
      log({ level, event, message, fields: { ruleBook: hash } });
    for (const fault of faults) logReload('error', 'rule-book-refused', `rule book refused: ${fault}`);
    if (faults.length > 0) {
      logReload('error', 'rule-book-refused', `rule book ${hash} stays in force.`);
      return;
    }
    if (changed || wasRefused || isAsked)
      logReload('info', 'rule-book-in-force', `rule book ${hash} is in force.`);
    // What operators chose stays, so that not each mode of a rule book that differs is a change.
    const { state } = rollout.control;
    const words = bookChangeWords(
      modesInForce(before.rollout?.modes, state),
      modesInForce(declared?.modes, state),
      names(),
    );
    if (words !== '') logReload('info', 'rollout-changed', `rollout: ${words}.`);
    running.server.reload?.('rule-book');
  }

  private reloadTls(use: CertificateUse): readonly string[] {
    const { settings, running, certificates, log } = this.parts;
    const outcome = use === 'clients' ? clientFiles(settings) : upstreamFiles(settings);
    if ('fault' in outcome) return [outcome.fault];
    const { tls } = outcome;
    const before = use === 'clients' ? this.clientTls : this.upstreamTls;
    if (tls === undefined || isSame(tls, before)) return [];
    const name = settings.nameOf(use === 'clients' ? table.tlsCert : table.upstreamCert);
    const refusal = certificates.refusal(use, tls, name, Date.now());
    if (refusal !== undefined) return [refusal];
    if (use === 'clients') {
      this.clientTls = tls;
      running.server.renew(tls);
    } else {
      this.upstreamTls = tls;
      running.renewUpstream(tls);
    }
    certificates.take(use, tls);
    const what =
      use === 'clients' ? 'the renewed certificate for clients' : 'the renewed files for TLS to V2';
    log({ level: 'info', event: 'certificate-in-use', message: `certificate: new connections use ${what}.` });
    for (const line of certificates.dueLines(Date.now())) log(line);
    return [];
  }

  private async reloadDescription(): Promise<readonly string[]> {
    const { description, running, log } = this.parts;
    const fault = await description?.read();
    if (fault !== undefined) return [fault];
    log({
      level: 'info',
      event: 'v2-openapi-in-use',
      message: "V2's OpenAPI: the renewed description is in use.",
    });
    running.server.reload?.('v2-openapi');
    return [];
  }

  private reloadStoreCa(): readonly string[] {
    const outcome = storeFiles(this.parts.settings);
    if ('fault' in outcome) return [outcome.fault];
    if (typeof outcome.tls?.ca === 'string') this.parts.rollout.renewStoreCa?.(outcome.tls.ca);
    return [];
  }

  private reloadSecrets(): readonly string[] {
    const { settings, running, log } = this.parts;
    const { changed, faults } = settings.rereadSecrets(shortSecretOf);
    for (const setting of changed) {
      const secret = settings.get(setting);
      const isClientSecret = setting === table.clientSecret;
      if (isClientSecret && secret !== undefined) running.renewClientSecret(secret);
      log({
        level: isClientSecret ? 'warn' : 'info',
        event: 'secret-in-use',
        message: `secret: the renewed ${settings.nameOf(setting)} is in use${
          isClientSecret
            ? '; every client has a new hash from now on, so that shares, pins and names of the old hashes no longer apply.'
            : '.'
        }`,
      });
    }
    return faults;
  }
}

function caOfStore(settings: Settings): readonly string[] {
  const address = settings.get(table.store);
  return address.kind === 'redis' && address.ca !== undefined ? [address.ca] : [];
}

function isSame(one: TlsTexts, other: TlsTexts | undefined): boolean {
  return one.ca === other?.ca && one.cert === other?.cert && one.key === other?.key;
}

/** Maximum bytes of rewrite log lines queued for a slow reader. */
const LOG_QUEUE_BYTES = 8 * 1024 * 1024;

/** The log of entries, in this process or through the first one. */
export interface RewriteLog extends LogQueue {
  /** `names` are those of clients, for people who read along. */
  record(entry: Entry, names: () => ReadonlyMap<string, string>): void;
}

/** The log with `log-file` off. */
const NO_LOG: RewriteLog = {
  record: () => {},
  dropped: 0,
  flush: () => Promise.resolve(),
  reopen: () => false,
};

/** Opens the rewrite log: the file that the settings name, or stdout, with rows instead of JSON on a terminal. */
export function openRewriteLog(
  settings: Settings,
  log: WriteProcessLine,
): RewriteLog | { readonly fault: string } {
  const path = settings.get(table.logFile);
  if (path === 'off') return NO_LOG;
  try {
    const sink = openLogSink(path ?? 1, {
      limit: LOG_QUEUE_BYTES,
      onNotice: (trouble) => log({ level: 'warn', event: 'log-trouble', message: `log: ${trouble}.` }),
    });
    const isTerminal = path === undefined && process.stdout.isTTY;
    const writeRow = rowWriter(sink, () => terminalOf(process.stdout));
    return {
      record: isTerminal ? writeRow : (entry) => sink.writeEncoded(encodedLine(entry)),
      get dropped() {
        return sink.dropped;
      },
      get droppedAt() {
        return sink.droppedAt;
      },
      flush: (milliseconds) => sink.flush(milliseconds),
      reopen: () => sink.reopen(),
    };
  } catch (error) {
    const name = path === undefined ? 'stdout' : settings.nameOf(table.logFile);
    return {
      fault: `${name} cannot be opened for appending${path === undefined ? '' : `: ${path}`}: ${systemReason(error)}.`,
    };
  }
}

/** Reopens the log file, because it may have been renamed. */
export function reopenLog(rewriteLog: RewriteLog, log: WriteProcessLine): void {
  try {
    if (rewriteLog.reopen())
      log({ level: 'info', event: 'log-reopened', message: 'log: the log file was reopened.' });
  } catch (error) {
    const message = `log: the log file cannot be reopened: ${systemReason(error)}; lines go to the old one.`;
    log({ level: 'error', event: 'log-trouble', message });
  }
}

/** Returns a function that writes entries as rows, like `tail`, to a terminal, which may change its width. */
export function rowWriter(sink: Pick<LogSink, 'write'>, terminal: () => Terminal): RewriteLog['record'] {
  let isBegun = false;
  return (entry, names) => {
    const known = names();
    if (!isBegun) sink.write(`${entryHead(terminal(), known)}\n`);
    isBegun = true;
    sink.write(`${entryRow(entry, terminal(), known)}\n`);
  };
}

/** Loads the inspector page: the built bundle, or in a checkout one made from the sources. */
export function loadInspectorPage(): ReadonlyMap<string, PageFile> {
  const built = new URL('../../page/', import.meta.url);
  return pageFiles(
    existsSync(built) ? readBundle(built) : bundlePage(),
    (body) => new Uint8Array(gzipSync(body, { level: constants.Z_BEST_COMPRESSION })),
  );
}

function readBundle(folder: URL): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  return new Map(
    readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(new URL(name, folder)))]),
  );
}

/**
 * Bundles the inspector page from its sources with esbuild, in about a third of a second; returns the files by name, which contains their
 * hash. The build output has the bundle, so that only a checkout needs esbuild.
 */
export function bundlePage(): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const { buildSync }: typeof esbuild = createRequire(import.meta.url)('esbuild');
  const folder = new URL('../../inspector/page/', import.meta.url);
  const { outputFiles } = buildSync({
    absWorkingDir: fileURLToPath(folder),
    entryPoints: { inspector: 'main.tsx', 'inspector-style': 'style/page.css' },
    entryNames: '[name]-[hash]',
    outdir: '.',
    bundle: true,
    minify: true,
    write: false,
    // Not a module: browsers send an `Origin` for modules, which looks foreign behind a proxy that sets its own Host.
    format: 'iife',
    target: 'es2024',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    charset: 'utf8',
    legalComments: 'none',
  });
  const files = new Map(
    outputFiles.map(({ path, contents }) => [
      path.slice(path.lastIndexOf('/') + 1),
      new Uint8Array(contents),
    ]),
  );
  const named = (end: string): string => [...files.keys()].find((name) => name.endsWith(end)) ?? '';
  const html = pageDocument(readFileSync(new URL('page.html', folder), 'utf8'), {
    style: named('.css'),
    script: named('.js'),
    icon: readFileSync(new URL('icon.svg', folder), 'utf8'),
  });
  return files.set(DOCUMENT, new TextEncoder().encode(html));
}
