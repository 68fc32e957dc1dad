/** Reads a day or a time (RFC 3339) as milliseconds since 1970; a day starts at midnight UTC. Undefined for anything else. */
export function readInstant(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(
    text,
  );
  if (match === null || !isDay(match[1] ?? '')) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Reads `500ms`, `30s`, `5m`, `1h` as milliseconds; undefined for anything else, and for an empty text. */
export function readDuration(text: string): number | undefined {
  const match = /^(\d{1,7})(ms|s|m|h)$/.exec(text);
  const scale = match === null ? undefined : { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match[2] ?? ''];
  const value = scale === undefined ? 0 : Number(match?.[1]) * scale;
  return value === 0 ? undefined : value;
}

/** A calendar day that exists, of any year. */
function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
