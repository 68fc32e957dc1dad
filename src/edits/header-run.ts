import { type HeaderList, isNamed } from '../http/header-list.ts';
import type { Refusal } from './records.ts';
import type { RulePolicies } from './run.ts';

/** A field while rules are applied. */
export interface Field {
  name: string;
  value: string;
  /** Its name as received; undefined for one that a rule added. */
  readonly origin: string | undefined;
}

/** One edit of the header section, for people. Never contains a value. */
export interface FieldRecord<Name extends string = string> {
  readonly change: string;
  readonly rule: Name;
  /** The field as its sender named it; the new name for a field that a rule added. */
  readonly header: string;
  readonly from?: string;
  /** The field as its recipient gets it. */
  readonly to?: string;
  readonly note?: string;
}

/** Why header rules stop: the request is refused, or forwarded unchanged. */
export type HeaderStop = Refusal | 'forward';

/** The rules that apply, one after the other, to one header section. Fields that no rule names keep their bytes and their order. */
export class HeaderRun<Name extends string = string> {
  /** The raw query of the request, with its question mark unless it is empty; a rule may move a credential out of it. */
  query: string;
  readonly records: FieldRecord<Name>[] = [];
  private readonly received: HeaderList;
  private fields: Field[] = [];
  private base:
    | { readonly change: string; readonly name: Name; readonly conflict: RulePolicies['conflict'] }
    | undefined = undefined;

  constructor(headers: HeaderList, query: string) {
    this.received = headers;
    this.query = query;
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? '';
      this.fields.push({ name, value: headers[at + 1] ?? '', origin: name });
    }
  }

  /** Starts a rule: the next edits are recorded as its own. */
  begin(base: NonNullable<HeaderRun<Name>['base']>): void {
    this.base = base;
  }

  named(name: string): readonly Field[] {
    const lower = name.toLowerCase();
    return this.fields.filter((field) => isNamed(field.name, lower));
  }

  add(name: string, value: string): void {
    this.fields.push({ name, value, origin: undefined });
  }

  /** Removes fields without a record. */
  remove(gone: readonly Field[]): void {
    if (gone.length > 0) this.fields = this.fields.filter((field) => !gone.includes(field));
  }

  /** Removes all fields with a name. */
  drop(name: string, note?: string): void {
    const dropped = this.named(name);
    const [first] = dropped;
    if (first === undefined) return;
    this.remove(dropped);
    this.record(first.origin ?? first.name, note === undefined ? {} : { note });
  }

  /** Applies the policy `conflict` to fields named `to`, the new name of `by`; true if it dropped some. */
  settle(to: string, by: string): HeaderStop | boolean {
    if (this.named(to).length === 0) return false;
    const policy = this.base?.conflict;
    if (policy === 'forward') return 'forward';
    if (policy === 'refuse') {
      const detail = `${by} and the header field ${to} mean the same: send one of them.`;
      return { code: 'conflicting-fields', status: 422, detail };
    }
    this.drop(to, 'conflict');
    return true;
  }

  /**
   * Renames a field in the list of another field: a cache before the gateway would ignore a name in `Vary` that no V1 request has
   * (RFC 9110 §12.5.5), and a script could not read a field that is exposed under another name.
   */
  renameIn(list: string, from: string, to: string): void {
    const lower = from.toLowerCase();
    let first: Field | undefined;
    for (const field of this.named(list)) {
      const value = field.value.replaceAll(/[^\s,]+/g, (name) => (isNamed(name, lower) ? to : name));
      if (value !== field.value) first ??= field;
      field.value = value;
    }
    if (first !== undefined) this.record(first.origin ?? first.name, { to: first.name });
  }

  /** Records an edit of the rule: the field as it was, and what it became. */
  record(header: string, places: Pick<FieldRecord, 'from' | 'to' | 'note'>): void {
    const { base } = this;
    if (base !== undefined) this.records.push({ change: base.change, rule: base.name, header, ...places });
  }

  /** Returns the fields: the same list if nothing changed. */
  finish(): HeaderList {
    return this.records.length === 0
      ? this.received
      : this.fields.flatMap(({ name, value }) => [name, value]);
  }
}

/** The note for a rule whose new name was already present. */
export function conflictNote(isConflict: boolean): { readonly note?: string } {
  return isConflict ? { note: 'conflict' } : {};
}

/** Puts a value in place of the braces. */
export function filled(template: string, value: string): string {
  return template.replace('{}', () => value);
}

/** Refuses a request with an ambiguous head, or whose new value no header field can have. */
export function badRequest(detail: string): Refusal {
  return { code: 'bad-request', status: 400, detail };
}
