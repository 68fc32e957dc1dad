import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { WorkName } from '../work.ts';

/** A program, and its environment: that of the bench where none is stated. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A proxy that does the work, as a process. */
export interface Peer {
  readonly name: string;
  /** The works that it can be configured for. */
  readonly works: readonly WorkName[];
  /** True of a proxy that this bench configures for TLS on either side. */
  readonly hasTls: boolean;
  /** The missing program, with the package that installs it; undefined when it can be started. */
  missing(): string | undefined;
  /** Starts it in the foreground on 127.0.0.1, with one worker; `folder` is its own, for its configuration. */
  command(place: PeerPlace): Command;
}

/** The port of a peer, its upstream, and a folder of its own. */
export interface PeerPlace {
  readonly port: number;
  readonly upstream: number;
  readonly folder: string;
  /** The certificate for clients; without it, they are served without TLS. */
  readonly clientTls?: TlsFiles | undefined;
  /** The authority of V2's certificate, in a file; without it, V2 is called without TLS. */
  readonly upstreamCa?: string | undefined;
}

/** Files of a certificate and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** The first of the files that is on this machine; names on PATH and in the system's folders, or whole paths. */
export function found(...files: readonly string[]): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/sbin',
    '/usr/bin',
    '/usr/local/sbin',
  ];
  return files
    .flatMap((file) => (file.startsWith('/') ? [file] : folders.map((folder) => join(folder, file))))
    .find(isThere);
}

function isThere(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
