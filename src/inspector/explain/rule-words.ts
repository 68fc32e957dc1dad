import { tokenName } from '../../json/json-pointer.ts';
import { printScalar } from '../../json/json-scalar.ts';
import { isOfQuery, type EditRecord } from '../../rewrite/rewrite.ts';
import type { Change } from '../../rules/rule-book.ts';
import type { MappedValue, Path, QueryRule, RequestRule, ResponseRule } from '../../rules/rule.ts';

/** A request rule in words, such as `nest street_address, suburb in property under address`. */
export function requestRuleWords(rule: RequestRule): string {
  switch (rule.rule) {
    case 'unwrap':
      return `unwrap ${rule.member}`;
    case 'nest':
      return `nest ${rule.members.join(', ')}${within(rule.in)} under ${rule.under}`;
    case 'rename':
      return `rename ${rule.member} to ${rule.to}${within(rule.in)}`;
    case 'strip':
      return `strip ${rule.members.length === 0 ? 'nothing yet' : rule.members.join(', ')}${within(rule.in)}`;
    case 'only':
      return `keep only ${rule.members.join(', ')}${within(rule.in)}`;
    case 'map':
      return `map ${rule.member}${within(rule.in)}: ${valueWords(rule.values)}`;
  }
}

/** A query rule in words. */
export function queryRuleWords(rule: QueryRule): string {
  switch (rule.rule) {
    case 'rename':
      return `rename ?${rule.parameter} to ?${rule.to}`;
    case 'strip':
      return `strip ${rule.parameters.map((name) => `?${name}`).join(', ')}`;
    case 'map':
      return `map ?${rule.parameter}: ${rule.values.map(({ from, to }) => `${from.text} to ${to.text}`).join(', ')}`;
  }
}

function valueWords(values: readonly MappedValue[]): string {
  return values.map(({ from, to }) => `${printScalar(from)} to ${printScalar(to)}`).join(', ');
}

/** A response rule in words. */
export function responseRuleWords(rule: ResponseRule): string {
  switch (rule.rule) {
    case 'alias':
      return `alias ${rule.path.join('.')} as ${rule.as}`;
    case 'flatten':
      return `flatten ${rule.path.join('.')}${rule.members === undefined ? '' : `: ${rule.members.join(', ')}`}`;
    case 'deprecations':
      return `list the deprecated attributes at ${rule.path.join('.')}`;
    case 'rename':
      return `rename ${rule.path.join('.')} to ${rule.to}`;
    case 'unnest':
      return `unnest ${rule.path.join('.')}${rule.members === undefined ? '' : `: ${rule.members.join(', ')}`}`;
    case 'errors':
      return 'name members in errors as V1 does';
    case 'inverse':
      return 'undo the request rules';
    case 'map':
      return `map ${rule.path.join('.')}: ${valueWords(rule.values)}`;
  }
}

/** One or two sentences for display: the effect of an edit, and its reason. */
export function editReason(edit: EditRecord, change: Change | undefined): string {
  const done = doneBy(edit);
  return change === undefined ? done : `${done} ${change.summary}`;
}

function doneBy(edit: EditRecord): string {
  const { rule, from, path, note } = edit;
  if (isOfQuery(edit)) return doneToQuery(edit);
  const name = nameOf(from);
  if (note === 'already-flat') return 'The body has no wrapper; nothing to remove.';
  if (note === 'byte-order-mark') return 'The byte order mark goes; JSON does not allow one.';
  if (note === 'sibling') return `${name} stands beside the wrapper, where V1 ignores it; it goes.`;
  if (note === 'duplicate') return `${name} occurs more than once; the last one counts, this one goes.`;
  if (note === 'conflict' && path === undefined) {
    return `${name} is the V2 name of an attribute that is present under its V1 name; V1 ignores it, so it goes.`;
  }
  const conflictNote = note === 'conflict' ? ' V2’s name is there too; the V1 value wins.' : '';
  switch (rule) {
    case 'unwrap':
      return `The wrapper ${name} goes.`;
    case 'nest':
      return `${name} moves into ${nameOf(parentOf(path))}.${conflictNote}`;
    case 'rename':
      return `${name} is now called ${nameOf(path)}.${conflictNote}`;
    case 'strip':
      return `${name} goes.`;
    case 'only':
      return `${name} is not an attribute that V2 accepts; it goes.`;
    case 'map':
      return `The value of ${name} becomes the one that V2 has for it.`;
  }
}

function doneToQuery({ rule, from = '', path, note }: EditRecord): string {
  const name = `The query parameter ${from.slice(1)}`;
  if (note === 'conflict' && path === undefined) {
    return `${name} is the V2 name of one that is present under its V1 name; V1 ignores it, so it goes.`;
  }
  if (path === undefined) return `${name} goes.`;
  if (rule === 'map')
    return `A value of ${name.charAt(0).toLowerCase()}${name.slice(1)} becomes the one that V2 has for it.`;
  return `${name} is now called ${path.slice(1)}.${note === 'conflict' ? ' V2’s name is there too; the V1 value wins.' : ''}`;
}

/** The last name of a pointer, for display. */
export function nameOf(pointer: string | undefined): string {
  const last = pointer?.slice(pointer.lastIndexOf('/') + 1) ?? '';
  return last === '' ? 'the body' : tokenName(last);
}

function parentOf(pointer: string | undefined): string | undefined {
  return pointer?.slice(0, Math.max(0, pointer.lastIndexOf('/')));
}

function within(path: Path): string {
  return path.length === 0 ? '' : ` in ${path.join('.')}`;
}
