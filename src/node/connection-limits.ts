import { readFileSync } from 'node:fs';
import type { Settings } from '../settings/read-settings.ts';
import { environmentName, settings as table, type Setting } from '../settings/settings.ts';
import type { ProcessLine } from './log/process-log.ts';

/** Maximum numbers of connections of one process. */
export interface ConnectionLimits {
  /** With clients. */
  readonly clients: number;
  /** With each origin. */
  readonly upstream: number;
}

/** Files and sockets that a process opens besides these: ports, logs, threads, and connections of operators. */
const OTHER_FILES = 64;

/** Maximum number of files and sockets that this process may open; undefined where the kernel does not say: only Linux does. */
export function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/**
 * The connections of the settings, as far as the process may open so many files: otherwise idle clients would take all of them, and
 * V2 could not be connected to. Those with origins come first, up to half of the files.
 */
export function connectionLimits(
  settings: Settings,
  files: number = Number.POSITIVE_INFINITY,
): ConnectionLimits {
  const room = Math.max(0, files - OTHER_FILES);
  // Of a connection with the embedded V2 both ends are here.
  const ends =
    1 +
    Number(settings.get(table.upstream) === undefined) +
    Number(settings.get(table.v1Upstream) !== undefined);
  const upstream = Math.min(settings.get(table.upstreamConnections), Math.floor(room / 2 / ends));
  const clients = Math.min(settings.get(table.clientConnections), room - upstream * ends);
  return { clients: Math.max(1, clients), upstream: Math.max(1, upstream) };
}

/** The line of the process log about settings that need more files than the process may open; undefined if it may open enough. */
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
