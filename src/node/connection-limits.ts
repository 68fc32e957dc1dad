import { readFileSync } from 'node:fs';
import type { Settings } from '../settings/read-settings.ts';
import { environmentName, settings as table, type Setting } from '../settings/settings.ts';
import type { ProcessLine } from './log/process-log.ts';

/** Maximum connections of one process. */
export interface ConnectionLimits {
  /** With clients. */
  readonly clients: number;
  /** With each origin. */
  readonly upstream: number;
}

/** Files and sockets that a process opens in addition: ports, logs, threads, operators' connections. */
const OTHER_FILES = 64;

/** Maximum number of files and sockets that this process may open; undefined except on Linux. */
export function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/**
 * Lowers the connection settings to the number of files that the process may open; otherwise idle clients could use up all files and
 * leave none for connections to V2. Connections to origins take precedence, with up to half of the files.
 */
export function connectionLimits(
  settings: Settings,
  files: number = Number.POSITIVE_INFINITY,
): ConnectionLimits {
  const room = Math.max(0, files - OTHER_FILES);
  // A connection to the embedded V2 has both ends in this process.
  const ends =
    1 +
    Number(settings.get(table.upstream) === undefined) +
    Number(settings.get(table.v1Upstream) !== undefined);
  const upstream = Math.min(settings.get(table.upstreamConnections), Math.floor(room / 2 / ends));
  const clients = Math.min(settings.get(table.clientConnections), room - upstream * ends);
  return { clients: Math.max(1, clients), upstream: Math.max(1, upstream) };
}

/** Returns a warning for the process log if the settings need more files than the process may open. */
export function fewFilesLine(settings: Settings, files: number | undefined): ProcessLine | undefined {
  const { clients, upstream } = connectionLimits(settings, files);
  const cut = [
    ...cutText(settings, table.clientConnections, clients, 'with clients'),
    ...cutText(settings, table.upstreamConnections, upstream, 'to V2'),
  ];
  if (cut.length === 0) return undefined;
  return {
    level: 'warn',
    event: 'few-files',
    message: `open files: the limit of ${files} leaves room for ${cut.join(', and for ')}; raise it (\`ulimit -n\`, \`LimitNOFILE\` of systemd, \`--ulimit nofile\` of Docker), or lower the setting.`,
    fields: { files, clients, upstream },
  };
}

function cutText(settings: Settings, setting: Setting<number>, limit: number, ends: string): string[] {
  const wanted = settings.get(setting);
  if (limit === wanted) return [];
  return [
    `${limit} connections ${ends} instead of ${wanted} (--${setting.name}, ${environmentName(setting)})`,
  ];
}
