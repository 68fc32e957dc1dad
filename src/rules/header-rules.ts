import type { Prefixes } from '../http/target.ts';
import type { DeclaredChange, DeclaredHeaderRule } from './declared-change.ts';
import { fieldFault, isOneValue } from './field-names.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import { mediaReleaseFault, mediaTemplateFault } from './release-place.ts';
import { isReleaseDate, type Operation, VERSION_HEADER, type VersionField } from './rule-book.ts';
import type { HeaderRule } from './rule.ts';

/** Fields that requests use for something else, so none of them can name a release. */
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
        ? 'has a meaning of its own; name another field'
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

/**
 * Finds header rules that can never take effect: on the field that names V2's release, or after a rule that removes their field
 * or value. A change `on: every` is stale only if it is so where no other change applies; a change for operations, if it is so
 * for any of them.
 */
export function staleHeaderRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  releaseField: string | undefined,
): readonly SourceFault[] {
  const ruled = changes.filter(({ headers, responseHeaders }) => headers.length + responseHeaders.length > 0);
  if (ruled.length === 0) return [];
  const faults = new Map<string, SourceFault>();
  const seen = new Set<string>();
  for (const operation of [undefined, ...operations]) {
    const applied = ruled.filter(
      ({ change: { on } }) => on === 'every' || (operation !== undefined && on.includes(operation.id)),
    );
    // Ten thousand operations with the same changes are checked once.
    const key = applied.map(({ change }) => change.id).join(' ');
    if (seen.has(key)) continue;
    seen.add(key);
    for (const side of ['headers', 'responseHeaders'] as const) {
      const knowledge = new FieldKnowledge(releaseField);
      for (const { change, [side]: rules } of applied) {
        for (const declared of rules) {
          for (const { part, reason } of knowledge.apply(declared, change.id)) {
            if (change.on === 'every' && operation !== undefined) continue;
            const path = declared.parts[part] ?? declared.parts[0] ?? [];
            const message = `change "${change.id}": ${declared.rule.rule} of ${subjectOf(declared.rule, part)} has no effect: ${reason}`;
            faults.set(`${path.join()} ${reason}`, { path, message });
          }
        }
      }
    }
  }
  return [...faults.values()];
}

interface StaleField {
  readonly part: number;
  readonly reason: string;
}

/** What is certain of any header section after some rules, whatever it was before them. */
class FieldKnowledge {
  private readonly releaseField: string | undefined;
  /** The fields that are gone, in lower case: the sentence that says why. */
  private readonly gone = new Map<string, string>();
  /** The fields that are there for certain, and the change that sees to it. */
  private readonly present = new Map<string, string>();

  constructor(releaseField: string | undefined) {
    this.releaseField = releaseField;
  }

  /** Returns the stale parts of a rule, and records its effect. A rule for some statuses changes nothing for certain. */
  apply({ rule, status }: DeclaredHeaderRule, change: string): readonly StaleField[] {
    const stale = this.staleParts(rule);
    if (status === undefined) this.learn(rule, change);
    return stale;
  }

  private staleParts(rule: HeaderRule): readonly StaleField[] {
    const names = fieldsOf(rule);
    const release = [...names, ...('to' in rule ? [rule.to] : [])].find(
      (name) => name.toLowerCase() === this.releaseField,
    );
    if (release !== undefined)
      return [
        { part: 0, reason: `"${release}" names V2's release; set it with version, and remove this rule` },
      ];
    if (rule.rule === 'default') {
      const by = this.present.get(rule.field.toLowerCase());
      return by === undefined
        ? []
        : [{ part: 0, reason: `change "${by}" sets it already; remove one of the two` }];
    }
    return names.flatMap((name, part) => {
      const lower = name.toLowerCase();
      const isAgain = names.findIndex((other) => other.toLowerCase() === lower) < part;
      const reason = isAgain ? `"${name}" is in the list already` : this.gone.get(lower);
      return reason === undefined ? [] : [{ part, reason: `${reason}; remove one of the two` }];
    });
  }

  private learn(rule: HeaderRule, change: string): void {
    switch (rule.rule) {
      case 'rename':
        this.take(rule.field, `change "${change}" renames "${rule.field}" to "${rule.to}" already`);
        this.gone.delete(rule.to.toLowerCase());
        return;
      case 'strip':
        for (const name of rule.fields) this.take(name, `change "${change}" strips "${name}" already`);
        return;
      case 'set':
      case 'default':
        this.gone.delete(rule.field.toLowerCase());
        this.present.set(rule.field.toLowerCase(), change);
        return;
      case 'query':
        this.gone.delete(rule.to.toLowerCase());
        return;
      case 'map':
    }
  }

  private take(name: string, reason: string): void {
    const lower = name.toLowerCase();
    if (!this.gone.has(lower)) this.gone.set(lower, reason);
    this.present.delete(lower);
  }
}

/** The fields that a rule looks for; a `set` finds none or some, and a `query` looks elsewhere. */
function fieldsOf(rule: HeaderRule): readonly string[] {
  switch (rule.rule) {
    case 'rename':
    case 'map':
      return [rule.field];
    case 'strip':
      return rule.fields;
    case 'set':
    case 'default':
    case 'query':
      return [];
  }
}

function subjectOf(rule: HeaderRule, part: number): string {
  if (rule.rule === 'query') return `the query parameter "${rule.parameter}"`;
  return `the header field "${rule.rule === 'strip' ? (rule.fields[part] ?? '') : rule.field}"`;
}
