import { randomUUID, X509Certificate } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { certificateSentence } from '../report/text.ts';
import type { ProcessLine } from './log/process-log.ts';
import { systemReason } from './system-reason.ts';

/** Bytes that are not valid text; the message is the end of a sentence. */
export class TextFault extends Error {}

/** Reads a text file; throws the errors of `readFileSync` and `decodeText`. */
export function readText(path: string): string {
  return decodeText(readFileSync(path));
}

/** Reads a text file; the message of an error that it throws is the reason, without the path. */
export function readSecretText(path: string): string {
  try {
    return readText(path);
  } catch (error) {
    throw new Error(systemReason(error), { cause: error });
  }
}

/**
 * Decodes a file's text by its byte order mark: UTF-8 with or without one, and UTF-16 with one, as PowerShell writes it. Throws a
 * `TextFault` for anything else: a decoder that replaces bytes would silently change the text.
 */
export function decodeText(bytes: Uint8Array): string {
  const [first, second, third, fourth] = bytes;
  if (first === 0x1f && second === 0x8b) throw new TextFault('it is compressed with gzip: unpack it first');
  const isWide = first === 0xff && second === 0xfe && third === 0 && fourth === 0;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  if (isWide) throw new TextFault('it is UTF-32: save it as UTF-8');
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    if (encoding !== 'utf-8' || !text.includes('\0')) return text;
  } catch {
    if (encoding === 'utf-8' && bytes.includes(0)) throw new TextFault(UNMARKED);
    throw new TextFault(
      `it is not ${encoding.toUpperCase()}${placeOfFault(bytes, encoding)}: save it as UTF-8`,
    );
  }
  throw new TextFault(UNMARKED);
}

const UNMARKED = 'it has NUL characters, like UTF-16 without a byte order mark: save it as UTF-8';

/**
 * Converts a new text for an existing file to the old one's form: its encoding, its byte order mark and, if all its lines end with CR LF,
 * its line ends. For a new file, returns the text unchanged.
 */
export function inFormOf(path: string, text: string): Uint8Array {
  if (!existsSync(path)) return Buffer.from(text);
  const bytes = readFileSync(path);
  const old = decodeText(bytes);
  const hasCrLf = old.includes('\r\n') && !/(?<!\r)\n/.test(old);
  const lines = hasCrLf ? text.replaceAll(/\r?\n/g, '\r\n') : text;
  const [first, second] = bytes;
  if (first === 0xef && second === 0xbb && bytes[2] === 0xbf) return Buffer.from(`\uFEFF${lines}`);
  if (first === 0xff && second === 0xfe) return Buffer.from(`\uFEFF${lines}`, 'utf16le');
  if (first === 0xfe && second === 0xff) return Buffer.from(`\uFEFF${lines}`, 'utf16le').swap16();
  return Buffer.from(lines);
}

/** Describes the first byte that is not UTF-8, with its line. */
function placeOfFault(bytes: Uint8Array, encoding: string): string {
  if (encoding !== 'utf-8') return '';
  // A binary search for the longest beginning that a strict streaming decoder accepts.
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isUtf8(bytes.subarray(0, middle), true)) good = middle;
    else bad = middle;
  }
  // A streaming decoder also accepts an incomplete character at the end.
  while (good > 0 && !isUtf8(bytes.subarray(0, good), false)) good -= 1;
  let line = 1;
  for (let at = 0; at < good; at += 1) if (bytes[at] === 0x0a) line += 1;
  return ` (byte 0x${(bytes[good] ?? 0).toString(16).toUpperCase().padStart(2, '0')} in line ${line}; Latin-1 or Windows-1252 has such bytes)`;
}

function isUtf8(bytes: Uint8Array, stream: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream });
    return true;
  } catch {
    return false;
  }
}

/** Files that are read together again when one of them changes. */
export interface WatchedGroup {
  /** Read at each check, and may change. */
  readonly files: readonly string[];
  /** Reads all of them again, and returns their faults as sentences; with any fault, the earlier content stays in use. */
  readonly reload: () => Promise<readonly string[]> | readonly string[];
  /** Called once with faults that persist, until the next change. */
  readonly onFaults: (faults: readonly string[]) => void;
}

/** Milliseconds between two checks. */
const POLL_MS = 1000;
/**
 * Number of checks in which faults may go away before they are reported: certificate and key are written one after the other, and a file
 * that is rewritten in place is empty for a moment.
 */
const GRACE_CHECKS = 3;

/**
 * Watches files by their status, and reads changed ones again: rewritten in place, replaced by a rename, or behind a symbolic
 * link that now leads elsewhere, as when the kubelet swaps `..data` for a ConfigMap or Secret. Kernel events were rejected: they
 * watch an inode or one folder, and a swapped link two folders above causes none.
 */
export class WatchedFiles {
  private readonly groups: readonly State[];
  private timer: NodeJS.Timeout | undefined = undefined;
  private checking: Promise<void> | undefined = undefined;

  /** `since` (milliseconds since 1970) is before the files were first read; the first check reads those changed later again. */
  constructor(groups: readonly WatchedGroup[], since: number) {
    this.groups = groups
      .filter(({ files }) => files.length > 0)
      .map((group) => ({ group, stamps: undefined, since, faulty: 0 }));
  }

  /** Checks all files each second, until `stop`. */
  start(): void {
    this.timer = setInterval(() => void this.check(), POLL_MS).unref();
    void this.check();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Checks all files once; never rejects. */
  check(): Promise<void> {
    this.checking ??= Promise.all(this.groups.map((state) => checkGroup(state)))
      .then(() => {})
      .finally(() => {
        this.checking = undefined;
      });
    return this.checking;
  }
}

interface State {
  readonly group: WatchedGroup;
  /** One for each file at the last check; undefined before the first. */
  stamps: readonly string[] | undefined;
  readonly since: number;
  /** Checks in a row that met faults; from `GRACE_CHECKS` on they are reported. */
  faulty: number;
}

async function checkGroup(state: State): Promise<void> {
  const { group, stamps: before, since } = state;
  // Before the files are read, so that the next check finds a change during the reading.
  const found = await Promise.all(group.files.map((file) => stampOf(file)));
  state.stamps = found.map(({ text }) => text);
  const isChanged =
    before === undefined
      ? found.some(({ changedAt }) => changedAt >= since)
      : state.stamps.length !== before.length || state.stamps.some((stamp, index) => stamp !== before[index]);
  const isInGrace = state.faulty > 0 && state.faulty < GRACE_CHECKS;
  if (!isChanged && !isInGrace) return;
  const faults = await faultsOf(group);
  if (faults.length === 0) state.faulty = 0;
  else if (isChanged) state.faulty = 1;
  else state.faulty += 1;
  if (state.faulty === GRACE_CHECKS) group.onFaults(faults);
}

async function faultsOf(group: WatchedGroup): Promise<readonly string[]> {
  try {
    return await group.reload();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** The status of the file that a path leads to through links, with the latest time at which it can have changed; a missing file has a status as well. */
async function stampOf(file: string): Promise<{ readonly text: string; readonly changedAt: number }> {
  try {
    // In nanoseconds: a file can be rewritten within a millisecond, at the same size.
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return { text: [dev, ino, size, mtimeNs, ctimeNs].join(' '), changedAt: Number(ctimeNs / 1_000_000n) };
  } catch (error) {
    return { text: errorCode(error), changedAt: Number.NEGATIVE_INFINITY };
  }
}

/** How a file is replaced. */
interface Replacement {
  /** Mode of a new file, before the umask; an existing file keeps its own. */
  readonly mode?: number;
  /** False for a file that may be lost if the machine crashes. */
  readonly isDurable?: boolean;
}

/** The group's rights: removed if the file cannot keep its group, because another group would get them. */
const GROUP_RIGHTS = 0o070;

/**
 * Replaces a file: a reader sees the old one or the new one, and after a crash one of them exists. It keeps its mode and, if the process
 * has the right, its owner; a link to a file stays a link. The temporary file has an unpredictable name and is created exclusively
 * (`O_EXCL`), so that no link put in its place is followed.
 */
export async function replaceFile(path: string, text: string, how: Replacement = {}): Promise<void> {
  const { mode = 0o600, isDurable = true } = how;
  const target = await realpath(path).catch(() => path);
  const known = await stat(target).catch(() => undefined);
  const made = draftPath(target);
  const file = await open(made, 'wx', known === undefined ? mode : 0o600);
  try {
    try {
      await file.writeFile(text);
      if (known !== undefined) {
        const own = await file.stat();
        const isKept =
          isSameOwner(own, known) ||
          (await file.chown(known.uid, known.gid).then(
            () => true,
            () => false,
          ));
        await file.chmod(modeFor(known.mode, isKept));
      }
      if (isDurable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(made, target);
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  }
}

/** `replaceFile` for text that was just read, with no other code running in between. */
export function replaceFileSync(
  path: string,
  text: string | Uint8Array,
  { mode = 0o600 }: Replacement = {},
): void {
  const target = resolvedPath(path);
  const known = statSync(target, { throwIfNoEntry: false });
  const made = draftPath(target);
  const file = openSync(made, 'wx', known === undefined ? mode : 0o600);
  try {
    try {
      writeFileSync(file, text);
      if (known !== undefined) fchmodSync(file, modeFor(known.mode, takesOwner(file, made, known)));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(made, target);
  } catch (error) {
    rmSync(made, { force: true });
    throw error;
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function draftPath(target: string): string {
  return `${target}.${randomUUID()}.tmp`;
}

/** The end of a draft's name: `randomUUID` and the ending, nothing else. */
const DRAFT = /\.[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}\.tmp$/;

/** Milliseconds without a change after which a draft counts as abandoned: a file has only a few kilobytes. */
const ABANDONED_MS = 10_000;

/**
 * Removes the drafts of a file, and of others that are named after it, left by a process that was killed while it replaced them: old ones
 * now, and newer ones if they have not changed `afterMs` later, because another process may be writing them.
 */
export async function removeDrafts(target: string, afterMs = ABANDONED_MS): Promise<void> {
  const real = await realpath(target).catch(() => target);
  const folder = dirname(real);
  const start = `${basename(real)}.`;
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(start) || !DRAFT.test(name)) continue;
    const path = join(folder, name);
    const changed = await changedAt(path);
    if (changed === undefined) continue;
    if (Date.now() - changed >= afterMs) await removeDraft(path);
    else setTimeout(() => void removeUnchanged(path, changed), afterMs).unref();
  }
}

/** This does not compare with the current time, because the clock may be changed at any moment. */
async function removeUnchanged(path: string, changed: number): Promise<void> {
  if ((await changedAt(path)) === changed) await removeDraft(path);
}

/** When a regular file was changed, in milliseconds since 1970; undefined for anything else. */
async function changedAt(path: string): Promise<number | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isFile() === true ? found.mtimeMs : undefined;
}

/** In a folder without write permission, such as that of a ConfigMap, the draft stays. */
async function removeDraft(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}

/** Resolves a path with its links, or without them if the file does not exist yet. */
export function resolvedPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function takesOwner(file: number, made: string, known: Owner): boolean {
  if (isSameOwner(statSync(made), known)) return true;
  try {
    fchownSync(file, known.uid, known.gid);
    return true;
  } catch {
    return false;
  }
}

function isSameOwner(one: Owner, other: Owner): boolean {
  return one.uid === other.uid && one.gid === other.gid;
}

function modeFor(mode: number, isOwnerKept: boolean): number {
  return (isOwnerKept ? mode : mode & ~GROUP_RIGHTS) & 0o7777;
}

/** PEM texts, as TLS takes them. */
export type TlsTexts = Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;

/** A file that a setting names; `name` is the option or variable that set it. */
export interface NamedFile {
  readonly name: string;
  readonly path: string | undefined;
}

/** The connections that a certificate is for. */
export type CertificateUse = 'clients' | 'v2';

/** Milliseconds between two warnings of the process log. */
const REPEAT_MS = 86_400_000;

/** The certificates that the gateway presents, and when they end. */
export class CertificatesInUse {
  private readonly all = new Map<CertificateUse, { readonly end: Date; warnedAt: number }>();

  /** Notes the certificate in these texts, if they have one. */
  take(use: CertificateUse, tls: TlsTexts | undefined): void {
    if (typeof tls?.cert !== 'string') return;
    // The first one is the gateway's own; the others belong to authorities, and clients may use different ones.
    const end = new X509Certificate(tls.cert).validToDate;
    this.all.set(use, { end, warnedAt: Number.NEGATIVE_INFINITY });
  }

  /** Why a renewed certificate must not replace the one in use: it has expired, and the current one has not. */
  refusal(use: CertificateUse, { cert }: TlsTexts, name: string, now: number): string | undefined {
    const current = this.all.get(use);
    if (typeof cert !== 'string' || current === undefined || current.end.getTime() <= now) return undefined;
    const end = new X509Certificate(cert).validToDate;
    return end.getTime() > now ? undefined : `${name} has a certificate that ended at ${end.toISOString()}.`;
  }

  /** Milliseconds since 1970 at which each certificate ends (`notAfter`, RFC 5280 §4.1.2.5). */
  get ends(): readonly { readonly use: CertificateUse; readonly notAfter: number }[] {
    return [...this.all].map(([use, { end }]) => ({ use, notAfter: end.getTime() }));
  }

  /** Returns warnings, once a day each, for certificates that have ended or will within two weeks. */
  dueLines(now: number): readonly ProcessLine[] {
    return [...this.all].flatMap(([use, certificate]) => {
      const notAfter = certificate.end.getTime();
      const sentence = certificateSentence({ use, notAfter }, now);
      if (sentence === undefined || now - certificate.warnedAt < REPEAT_MS) return [];
      certificate.warnedAt = now;
      return [
        {
          level: notAfter <= now ? 'error' : 'warn',
          event: 'certificate-ends',
          message: `certificate: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`,
          fields: { use, notAfter: certificate.end.toISOString() },
        },
      ];
    });
  }
}

/** Reads PEM files and checks that they match; the fault is a sentence that names the setting, or a line for each unreadable file. */
export function readTlsFiles(files: {
  readonly [Part in 'ca' | 'cert' | 'key']?: NamedFile;
}): { readonly tls: TlsTexts | undefined } | { readonly fault: string } {
  const texts: { -readonly [Part in keyof TlsTexts]: string } = {};
  const unread: string[] = [];
  for (const part of ['ca', 'cert', 'key'] as const) {
    const file = files[part];
    if (file?.path === undefined) continue;
    try {
      texts[part] = readFileSync(file.path, 'utf8');
    } catch (error) {
      unread.push(`${file.name} names a file that cannot be read: ${file.path}: ${systemReason(error)}.`);
    }
  }
  if (unread.length > 0) return { fault: unread.join('\n') };
  if ((texts.cert === undefined) !== (texts.key === undefined)) {
    return {
      fault: `${files.cert?.name} and ${files.key?.name} belong together; set both or neither.`,
    };
  }
  if (texts.ca !== undefined && !areCertificates(texts.ca))
    return { fault: `${files.ca?.name} names a file without PEM certificates: ${files.ca?.path}.` };
  if (Object.keys(texts).length === 0) return { tls: undefined };
  try {
    createSecureContext(texts);
  } catch (error) {
    const names = Object.values(files).flatMap(({ name, path }) => (path === undefined ? [] : [name]));
    return {
      fault: `${names.join(', ')}: not valid PEM, or not a pair (${errorCode(error, 'unreadable')}).`,
    };
  }
  return { tls: texts };
}

/** Node accepts authorities without any certificate, and then trusts no server. */
function areCertificates(text: string): boolean {
  const starts = text.match(/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g) ?? [];
  const blocks = text.match(/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END [^-]*-----/g) ?? [];
  try {
    for (const block of blocks) void new X509Certificate(block);
    return blocks.length > 0 && blocks.length === starts.length;
  } catch {
    return false;
  }
}

/**
 * Creates a file that only its owner can read; leaves an existing file alone, because opening and closing it would release the locks that
 * this process holds on it (fcntl(2): POSIX locks end when any descriptor of the file is closed). Throws if the file cannot be created.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

/** Returns the code of the kernel's or Node's error, or `otherwise`. */
export function errorCode(error: unknown, otherwise = 'unknown'): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}
