/** Decides whether a trace is recorded; `parent` is the decision of the client that began it, undefined when it begins here. */
export type TraceSampler = (traceId: string, parent: boolean | undefined) => boolean;

/**
 * Reads `OTEL_TRACES_SAMPLER` and its argument as OpenTelemetry defines them; without them, the parent decides, and roots are
 * recorded.
 */
export function readSampler(environment: Readonly<Record<string, string | undefined>>): TraceSampler {
  const name = environment['OTEL_TRACES_SAMPLER'] ?? '';
  const root = rootSampler(name.replace('parentbased_', ''), environment['OTEL_TRACES_SAMPLER_ARG']);
  const isParentBased = name === '' || name.startsWith('parentbased_') || !NAMES.has(name);
  return (traceId, parent) => (isParentBased && parent !== undefined ? parent : root(traceId));
}

const NAMES: ReadonlySet<string> = new Set(['always_on', 'always_off', 'traceidratio']);

function rootSampler(name: string, argument: string | undefined): (traceId: string) => boolean {
  if (name === 'always_off') return () => false;
  if (name !== 'traceidratio') return () => true;
  const given = Number(argument ?? 1);
  const ratio = given >= 0 && given <= 1 ? given : 1;
  // The last 56 bits are the random ones (W3C Trace Context Level 2); 52 of them are exact in a number.
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52;
}
