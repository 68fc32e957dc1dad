import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** PEM texts, as TLS takes them. */
export type TlsTexts = Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;

/** A file of a setting; the name is how the setting was set. */
export interface NamedFile {
  readonly name: string;
  readonly path: string | undefined;
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
