import { printedParameter, type QueryPart, queryParts, withName } from '../http/target.ts';
import type { RecordedEdit } from './records.ts';

/** The note on a parameter that reaches V2 with a V1 name or value in it, because no rule declares it as a list. */
export const UNMAPPED = 'unmapped';

/** A parameter of the query while rules are applied. */
export interface Parameter {
  part: QueryPart;
  /** Its name in the V1 query; undefined if a rule added it. */
  readonly origin: string | undefined;
  isRemoved: boolean;
}

/** The rules that apply, one after the other, to one query. Every character outside an edit stays. */
export class QueryRun<Rule extends { readonly rule: string } = { readonly rule: string }> {
  private readonly query: string;
  private readonly parameters: Parameter[];
  /** The remaining parameters by their current names, so that a rule takes time only for the parameters that it changes. */
  private readonly byName = new Map<string, Parameter[]>();
  private readonly records: {
    readonly change: string;
    readonly rule: Rule;
    readonly first: Parameter;
    readonly note: string | undefined;
  }[] = [];
  private change = '';
  private rule: Rule | undefined = undefined;

  constructor(query: string) {
    this.query = query;
    const parts = query === '' ? [] : queryParts(query.slice(1));
    this.parameters = parts.map((part) => ({ part, origin: part.name, isRemoved: false }));
    for (const parameter of this.parameters) {
      const known = this.byName.get(parameter.part.name);
      if (known === undefined) this.byName.set(parameter.part.name, [parameter]);
      else known.push(parameter);
    }
  }

  /** Starts a rule: the next edits are recorded as its own. */
  begin(change: string, rule: Rule): void {
    this.change = change;
    this.rule = rule;
  }

  /** Returns the parameters with a name; undefined if there are none. */
  named(name: string): readonly Parameter[] | undefined {
    return this.byName.get(name);
  }

  /** Renames all parameters with a name. */
  rename(from: string, to: string): void {
    const renamed = this.byName.get(from) ?? [];
    for (const parameter of renamed) parameter.part = withName(parameter.part, to);
    this.byName.delete(from);
    this.byName.set(to, renamed);
  }

  /** Adds a copy of each parameter with a name, under another name, after the original; returns the copies. */
  copy(from: string, to: string): readonly Parameter[] {
    const copies: Parameter[] = [];
    const all = this.parameters.splice(0).flatMap((parameter) => {
      if (parameter.isRemoved || parameter.part.name !== from) return [parameter];
      const copy = { ...parameter, part: withName(parameter.part, to) };
      copies.push(copy);
      return [parameter, copy];
    });
    for (const parameter of all) this.parameters.push(parameter);
    this.byName.set(to, copies);
    return copies;
  }

  /** Replaces each parameter of a name with these parts, under another name; returns the new parameters. */
  regroup(from: string, to: string, groups: readonly (readonly QueryPart[])[]): readonly Parameter[] {
    const made: Parameter[] = [];
    let at = 0;
    const all = this.parameters.splice(0).flatMap((parameter) => {
      if (parameter.isRemoved || parameter.part.name !== from) return [parameter];
      const own = (groups[at] ?? []).map((part) => ({ ...parameter, part }));
      at += 1;
      for (const one of own) made.push(one);
      return own;
    });
    for (const parameter of all) this.parameters.push(parameter);
    this.byName.delete(from);
    this.byName.set(to, made);
    return made;
  }

  /** Adds a parameter to the end. */
  add(name: string, text: string): void {
    const raw = printedParameter(name, text);
    const added = { part: { raw, name }, origin: undefined, isRemoved: false };
    this.parameters.push(added);
    this.byName.set(name, [added]);
    this.record([added]);
  }

  /** Removes all parameters with that name, each with one ampersand; true if there were any. */
  drop(name: string, note?: string): boolean {
    const dropped = this.byName.get(name);
    if (dropped === undefined) return false;
    for (const parameter of dropped) parameter.isRemoved = true;
    this.byName.delete(name);
    this.record(dropped, note);
    return true;
  }

  /** Adds a record for each name that the parameters had in the V1 query. */
  record(parameters: readonly Parameter[], note?: string): void {
    const { change, rule } = this;
    if (rule === undefined) return;
    const origins = new Set<string | undefined>();
    for (const first of parameters) {
      if (origins.has(first.origin)) continue;
      origins.add(first.origin);
      this.records.push({ change, rule, first, note });
    }
  }

  /** Returns the query, with a record for each edit and its rule. */
  finish(): {
    readonly query: string;
    readonly records: readonly RecordedEdit<Rule['rule']>[];
    readonly rules: readonly Rule[];
  } {
    if (this.records.length === 0) return { query: this.query, records: [], rules: [] };
    const left = this.parameters.filter(({ isRemoved }) => !isRemoved).map(({ part }) => part);
    return {
      query: left.length === 0 ? '' : `?${joinedParts(left)}`,
      records: this.records.map(({ change, rule, first, note }) => ({
        change,
        rule: rule.rule,
        ...(first.origin === undefined ? {} : { from: `?${first.origin}` }),
        ...(first.isRemoved ? {} : { path: `?${first.part.name}` }),
        ...(note === undefined ? {} : { note }),
      })),
      rules: this.records.map(({ rule }) => rule),
    };
  }
}

/** The text of parameters, without a question mark. */
export function joinedParts(parts: readonly QueryPart[]): string {
  return parts.map(({ raw }) => raw).join('&');
}
