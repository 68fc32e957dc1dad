/** A line of the process log, as Node writes it: the console of a platform has both logs in one, and every line of it parses. */
export function edgeProcessLine(
  level: 'info' | 'warn' | 'error',
  event: string,
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ level, time: new Date().toISOString(), event, ...fields, msg: message });
}
