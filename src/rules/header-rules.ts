import type { Prefixes } from '../http/target.ts';
import { fieldFault, isOneValue } from './field-names.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import { mediaReleaseFault, mediaTemplateFault } from './release-place.ts';
import { isReleaseDate, VERSION_HEADER, type VersionField } from './rule-book.ts';

/** Request fields with another meaning, which cannot name a release. */
const TAKEN_FIELDS: ReadonlySet<string> = new Set(['accept', 'authorization', 'cookie', 'user-agent']);

/** Reads `version`, in its short or long form, and checks what depends on it. */
export function declareVersion(
  { version, pins = [], policies = {} }: RuleBookSource,
  prefixes: Prefixes,
): {
  readonly version: string | undefined;
  /** Undefined for a day in `x-api-version`. */
  readonly versionField: VersionField | undefined;
  readonly faults: readonly SourceFault[];
} {
  const faults: SourceFault[] = [];
  const fault = (path: SourceFault['path'], message: string, blame?: 'key'): void => {
    faults.push({ path, blame, message });
  };
  if (version === undefined) {
    if (prefixes.isShared)
      fault(
        ['to'],
        'to is the same as from, and without version no field tells V1 and V2 apart; add version',
      );
    if (pins.length > 0)
      fault(
        ['pins'],
        'pins are for version, and this rule book has none; add version, or remove them',
        'key',
      );
    if (policies.future !== undefined)
      fault(
        ['policies', 'future'],
        'the policy future is for version, and this rule book has none; remove it',
        'key',
      );
    return { version, versionField: undefined, faults };
  }
  const written = typeof version === 'string' ? { value: version } : version;
  const { header = VERSION_HEADER, query, accept, value, v1 } = written;
  const places = (['header', 'query', 'accept'] as const).filter((key) => written[key] !== undefined);
  if (places.length > 1)
    fault(
      ['version', places[1] ?? 'query'],
      `version has ${places.join(' and ')}; write only the one that names the release`,
      'key',
    );
  const isNamed = v1 !== undefined || query !== undefined || accept !== undefined;
  const { form = isNamed && !/^\d{4}-\d{2}-\d{2}$/.test(value) ? 'text' : 'date' } = written;
  const place =
    query === undefined ? (accept === undefined ? { header: header.toLowerCase() } : { accept }) : { query };
  const lower = place.header ?? '';
  const template = accept === undefined ? undefined : mediaTemplateFault(accept);
  if (template !== undefined)
    fault(['version', 'accept'], `version.accept ${JSON.stringify(accept)} ${template}`);
  const reason =
    lower === VERSION_HEADER || place.header === undefined
      ? undefined
      : TAKEN_FIELDS.has(lower)
        ? 'already has another meaning; name another field'
        : fieldFault(header);
  if (reason !== undefined)
    fault(['version', 'header'], `version.header ${JSON.stringify(header)} ${reason}`);
  const check = (text: string, path: SourceFault['path'], name: string): void => {
    const first = lower === VERSION_HEADER ? ', not before 2025-01-01' : ', YYYY-MM-DD';
    if (form === 'date' && !isReleaseDate(text, lower))
      fault(
        path,
        `${name} ${JSON.stringify(text)} must be a real day${first}${typeof version === 'string' ? '' : ', or the form text'}`,
      );
    const inMedia = accept === undefined ? undefined : mediaReleaseFault(text);
    if (inMedia !== undefined) fault(path, `${name} ${JSON.stringify(text)} ${inMedia}`);
    else if (form === 'text' && !isOneValue(text))
      fault(
        path,
        `${name} ${JSON.stringify(text)} must be the value of a header field, without line breaks or spaces around it`,
      );
  };
  if (typeof version === 'object') check(value, ['version', 'value'], 'version.value');
  for (const [at, text] of (v1 ?? []).entries()) {
    const inMedia = accept === undefined ? undefined : mediaReleaseFault(text);
    if (inMedia !== undefined) fault(['version', 'v1', at], `version.v1 ${JSON.stringify(text)} ${inMedia}`);
    if (text === value)
      fault(['version', 'v1', at], `version.v1 has ${JSON.stringify(text)}, which is V2's value; remove it`);
  }
  for (const [at, pin] of pins.entries()) check(pin.version, ['pins', at, 'version'], `pins[${at}].version`);
  if (form === 'text' && policies.future !== undefined)
    fault(
      ['policies', 'future'],
      'the policy future is for days, and the form of version is text; remove it',
      'key',
    );
  if (query !== undefined && pins.length > 0)
    fault(['pins'], 'pins are for releases in a header field, and query names this one; remove them', 'key');
  if (query !== undefined && policies.future !== undefined && form === 'date')
    fault(
      ['policies', 'future'],
      'the policy future is for releases in a header field, and query names this one; remove it',
      'key',
    );
  const isUsual = lower === VERSION_HEADER && form === 'date';
  const field: VersionField = { ...place, form, ...(v1 === undefined ? {} : { v1 }) };
  return { version: value, versionField: isUsual && v1 === undefined ? undefined : field, faults };
}
