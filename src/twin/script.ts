import type { Choice } from './choices.ts';

/** How the text of a body becomes its bytes. */
export type BodyBytes = 'utf-8' | 'latin1' | 'utf-16' | 'bom';

/** One V1 request of a script. `${name}` in target, headers and body stands for a value that an earlier exchange kept. */
export interface ScriptedExchange {
  /** Distinct within its script. */
  readonly name: string;
  readonly method: string;
  /** Raw, from `/api/v1` on. */
  readonly target: string;
  /** In order; a name with `!` in front removes a field that the player would add. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined without a body. */
  readonly body: string | undefined;
  readonly bytes: BodyBytes;
  /** Total length that the body is padded to with spaces, in bytes; 0 without padding. */
  readonly pad: number;
  /** Content coding that the body is sent in. */
  readonly coding: 'gzip' | 'deflate' | undefined;
  /** Values that later exchanges can use, by name: the RFC 6901 pointer of each in the response. */
  readonly keeps: readonly (readonly [name: string, pointer: string])[];
  /** State of the reference services during this exchange: their store is broken, or held by another writer. */
  readonly store: 'broken' | 'busy' | undefined;
  /** The choice for which the responses differ. */
  readonly choice: Choice | undefined;
}

/** A script of V1 requests, played in order from the same starting data. */
export interface Script {
  readonly title: string;
  /** Settings of the reference services, such as `rate: 3`; without meaning for other services. */
  readonly settings: Readonly<Record<string, string>>;
  readonly exchanges: readonly ScriptedExchange[];
}

/** Methods that change nothing at a service (RFC 9110 §9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** True unless the method is safe: the exchange may change data. */
export function isWrite({ method }: ScriptedExchange): boolean {
  return !SAFE_METHODS.has(method);
}

/** An exchange with the parts that are usual left out. */
export function exchange(
  name: string,
  line: string,
  parts: Partial<ScriptedExchange> = {},
): ScriptedExchange {
  const [method = '', target = ''] = line.split(' ');
  return {
    name,
    method,
    target,
    headers: [],
    body: undefined,
    bytes: 'utf-8',
    pad: 0,
    coding: undefined,
    keeps: [],
    store: undefined,
    choice: undefined,
    ...parts,
  };
}

/** The names that stand as `${name}` in a text. */
export function namesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\$\{([\w-]+)\}/g), ([, name = '']) => name);
}
