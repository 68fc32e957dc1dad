/** Formats a process log line as Node does: a platform's console mixes both logs, and every line of it must parse. */
export function edgeProcessLine(
  level: 'info' | 'warn' | 'error',
  event: string,
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ level, time: new Date().toISOString(), event, ...fields, msg: message });
}
