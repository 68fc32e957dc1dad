import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { ProcessLine } from './log/process-log.ts';

/** PEM texts, as TLS takes them. */
export type TlsTexts = Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;

/** A file of a setting; the name is how the setting was set. */
export interface NamedFile {
  readonly name: string;
  readonly path: string | undefined;
}

/** Whose connections a certificate is for. */
export type CertificateUse = 'clients' | 'v2';

/** Milliseconds before the end of a certificate from which the process log warns, and between two warnings. */
const WARNING_MS = 14 * 86_400_000;
const REPEAT_MS = 86_400_000;

/** The certificates that the gateway shows, and when they end. */
export class CertificatesInUse {
  private readonly all = new Map<CertificateUse, { readonly end: Date; warnedAt: number }>();

  /** Notes the certificate of these texts; those without one change nothing. */
  take(use: CertificateUse, tls: TlsTexts | undefined): void {
    if (typeof tls?.cert !== 'string') return;
    // The first one is the gateway's own; those after it are of authorities, which clients may replace by others.
    const end = new X509Certificate(tls.cert).validToDate;
    this.all.set(use, { end, warnedAt: Number.NEGATIVE_INFINITY });
  }

  /** Why a renewed certificate must not replace the one in use: it has ended, and that one has not. A name is how its setting was set. */
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

  /** Returns lines for those that have ended, or do so within two weeks; each one once a day. */
  dueLines(now: number): readonly ProcessLine[] {
    return [...this.all].flatMap(([use, certificate]) => {
      const notAfter = certificate.end.getTime();
      if (notAfter - now > WARNING_MS || now - certificate.warnedAt < REPEAT_MS) return [];
      certificate.warnedAt = now;
      return [endLine(use, notAfter, now)];
    });
  }
}

function endLine(use: CertificateUse, notAfter: number, now: number): ProcessLine {
  const isOver = notAfter <= now;
  const name = use === 'clients' ? 'the certificate for clients' : 'the client certificate for V2';
  const when = new Date(notAfter).toISOString();
  const days = Math.ceil((notAfter - now) / 86_400_000);
  return {
    level: isOver ? 'error' : 'warn',
    event: 'certificate-ends',
    message: isOver
      ? `certificate: ${name} ended at ${when}; connections fail until its file is renewed.`
      : `certificate: ${name} ends at ${when}, in ${days} ${days === 1 ? 'day' : 'days'}; a renewed file is taken up while the gateway runs.`,
    fields: { use, notAfter: when },
  };
}

/** Reads PEM files and checks that they match; the fault is a sentence that names the setting, or one a line for each file that cannot be read. */
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
      unread.push(`${file.name} names a file that cannot be read: ${file.path} (${codeOf(error)}).`);
    }
  }
  if (unread.length > 0) return { fault: unread.join('\n') };
  if ((texts.cert === undefined) !== (texts.key === undefined)) {
    return {
      fault: `${files.cert?.name} and ${files.key?.name} belong together; set both or none.`,
    };
  }
  if (texts.ca !== undefined && !areCertificates(texts.ca))
    return { fault: `${files.ca?.name} names a file without PEM certificates: ${files.ca?.path}.` };
  if (Object.keys(texts).length === 0) return { tls: undefined };
  try {
    createSecureContext(texts);
  } catch (error) {
    const names = Object.values(files).flatMap(({ name, path }) => (path === undefined ? [] : [name]));
    return { fault: `${names.join(', ')}: not valid PEM, or not a pair (${codeOf(error)}).` };
  }
  return { tls: texts };
}

/** Node takes a text without certificates as authorities, and then trusts nobody. */
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}
