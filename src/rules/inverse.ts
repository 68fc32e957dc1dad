import { type JsonScalar, printScalar } from '../json/names.ts';
import { inverseConversion } from './conversion.ts';
import type { Change, Operation } from './rule-book.ts';
import { shapeAtV2 } from './move.ts';
import {
  type HeaderRule,
  type MappedValue,
  type MoveRule,
  type Path,
  type RenameBackRule,
  type RequestRule,
  type ResponseConvertRule,
  type ResponseHeaderRule,
  type ResponseJoinRule,
  type ResponseListRule,
  type ResponseMapRule,
  type ResponseMoveRule,
  type ResponseSetRule,
  type ResponseSplitRule,
  type ResponseStripRule,
  type SetRule,
  type UnnestRule,
} from './rule.ts';

/** A response rule that undoes a request rule. */
type UndoingRule =
  | RenameBackRule
  | UnnestRule
  | ResponseMapRule
  | ResponseStripRule
  | ResponseSetRule
  | ResponseMoveRule
  | ResponseConvertRule
  | ResponseListRule
  | ResponseJoinRule
  | ResponseSplitRule;

/** A response rule that undoes a request rule, and the id of the change that both belong to. */
export interface InvertedRule {
  readonly change: string;
  readonly rule: UndoingRule;
}

/**
 * Finds the rules that `inverse` stands for, by operation. A change applies wherever the resource that its operations write is in
 * a response: to other operations of the resource, and to those of resources that embed it. One on `every` applies to all.
 */
export class InverseIndex {
  private readonly changes: readonly Change[];
  /** Operations by the key of their resource. */
  private readonly resources: ReadonlyMap<string, readonly Operation[]>;
  private readonly byId: ReadonlyMap<string, Operation>;
  private readonly hasInverse: boolean;
  private readonly resource: Path;

  /** `resource` is where responses carry the resource, unless an operation says otherwise. */
  constructor(
    operations: readonly Operation[],
    changes: readonly Change[],
    resource: Path = DEFAULT_RESOURCE,
  ) {
    this.resource = resource;
    this.changes = changes;
    this.resources = Map.groupBy(operations, resourceOf);
    this.byId = new Map(operations.map((operation) => [operation.id, operation]));
    this.hasInverse = changes.some(isInverse);
  }

  /** The rules for responses to `operation`, in the order in which they apply: they undo the last request rule first. */
  of(operation: Operation | undefined): readonly InvertedRule[] {
    if (!this.hasInverse) return [];
    const at = resourcePath(operation, this.resource);
    return this.placesOf(operation, [], []).flatMap(({ resource, prefix }) => {
      const changes = this.changesOf(resource);
      return [...undo(changes, [...at, ...prefix]), ...undo(changes, [...at, '*', ...prefix])];
    });
  }

  /** The changes of the requests that write the resource of an operation, in the order of the rule book. */
  writing(operation: Operation | undefined): readonly Change[] {
    return this.changesOf(keyOf(operation));
  }

  /** The places of resources in a resource: its own, and those of the resources that it embeds. */
  private placesOf(
    operation: Operation | undefined,
    prefix: Path,
    around: readonly string[],
  ): readonly ResourcePlace[] {
    const resource = keyOf(operation);
    const own: ResourcePlace = { resource, prefix };
    // A resource that embeds itself would never end.
    if (around.includes(resource)) return [];
    const embeds = (this.resources.get(resource) ?? []).flatMap((one) => one.embeds ?? []);
    const inner = embeds.flatMap(({ path, operation: id }) => {
      const writer = this.byId.get(id);
      return writer === undefined ? [] : this.placesOf(writer, [...prefix, ...path], [...around, resource]);
    });
    return [own, ...inner];
  }

  private changesOf(resource: string): readonly Change[] {
    const ids = new Set((this.resources.get(resource) ?? []).map(({ id }) => id));
    return this.changes.filter(({ on }) => on === 'every' || on.some((id) => ids.has(id)));
  }
}

/** Where a response carries the resource, unless the rule book says otherwise. */
const DEFAULT_RESOURCE: Path = ['data'];

/** The path to the resource in responses to an operation; that of the rule book is `general`. Empty for the body itself. */
export function resourcePath(operation: Operation | undefined, general: Path = DEFAULT_RESOURCE): Path {
  return operation?.resource ?? general;
}

/** The key of a resource; no path has a space, as that of requests without an operation. */
function keyOf(operation: Operation | undefined): string {
  return operation === undefined ? ' ' : resourceOf(operation);
}

interface ResourcePlace {
  readonly resource: string;
  readonly prefix: Path;
}

/** The key of the resource of an operation: its path at V2, whose resources responses have, without a parameter at the end. */
export function resourceOf(operation: Pick<Operation, 'template' | 'to'>): string {
  return shapeAtV2(operation).replace(/\/\{\}$/, '');
}

/** True for a change that undoes its request rules in responses. */
export function isInverse({ response }: Change): boolean {
  return response.some(({ rule }) => rule === 'inverse');
}

/** True for a request rule with an inverse. An `unwrap` has nothing to undo, because responses are always wrapped. */
export function isInvertible(rule: RequestRule): boolean {
  return invert(rule, [], undefined) !== undefined;
}

/** Undoes `changes`, the last first, on the resource at `base`. */
function undo(changes: readonly Change[], base: Path): readonly InvertedRule[] {
  const undone: InvertedRule[] = [];
  /** The member with the parameters, for rules before the unwrap: their paths begin with it. */
  let wrapper: string | undefined;
  for (const change of changes.toReversed()) {
    for (const rule of change.request.toReversed()) {
      if (rule.rule === 'unwrap') wrapper = rule.member;
      if (!isInverse(change)) continue;
      const inverted = invert(rule, base, wrapper);
      if (inverted === undefined) continue;
      undone.push({ change: change.id, rule: inverted });
      if (inverted.rule === 'unnest' && hasNulls(change))
        undone.push(...nulls(inverted).map((rule) => ({ change: change.id, rule })));
    }
  }
  return undone;
}

/** True where V1 had every member that a `nest` moves, with null for those that have no value. */
function hasNulls({ response }: Change): boolean {
  return response.some((rule) => rule.rule === 'inverse' && rule.members === 'null');
}

/** The rules that restore members that V2 left out. */
function nulls({ path, members = [], status }: UnnestRule): readonly ResponseSetRule[] {
  return members.map((member) => ({
    rule: 'default',
    path: [...path.slice(0, -1), member],
    json: 'null',
    value: null,
    status,
  }));
}

/** The path from the parameters; undefined for a place outside of the wrapper, which no response has. */
function insideOf(path: Path, wrapper: string | undefined): Path | undefined {
  if (wrapper === undefined) return path;
  return path[0] === wrapper ? path.slice(1) : undefined;
}

function invert(rule: RequestRule, base: Path, wrapper: string | undefined): UndoingRule | undefined {
  const status = ['2xx'] as const;
  if (rule.rule === 'unwrap' || rule.rule === 'strip' || rule.rule === 'only') return undefined;
  if (rule.rule === 'move') return invertMove(rule, base, wrapper);
  const place = insideOf(rule.in, wrapper);
  if (place === undefined) return undefined;
  const inside = [...base, ...place];
  if ('conversion' in rule) {
    const conversion = inverseConversion(rule.conversion);
    return { rule: conversion.rule, path: [...inside, rule.member], conversion, status };
  }
  switch (rule.rule) {
    case 'rename':
      return { rule: 'rename', path: [...inside, rule.to], to: rule.member, status };
    case 'nest':
      return { rule: 'unnest', path: [...inside, rule.under], members: rule.members, status };
    case 'map': {
      const values = inverseValues(rule.values);
      return values.length === 0
        ? undefined
        : { rule: 'map', path: [...inside, rule.member], values, status };
    }
    case 'list':
      return { rule: 'first', path: [...inside, rule.to], to: rule.member, status };
    case 'join':
      return {
        rule: 'split',
        path: [...inside, rule.to],
        to: rule.members,
        with: rule.with,
        at: rule.at,
        status,
      };
    case 'split':
      return {
        rule: 'join',
        path: inside,
        members: rule.to,
        to: rule.member,
        with: rule.with,
        at: rule.at,
        status,
      };
    case 'set':
      return { rule: 'strip', path: [...inside, rule.member], status };
    // V1 may have such a member: another value is one that a client sent.
    case 'default': {
      const only = scalarOfJson(rule);
      return only && { rule: 'strip', path: [...inside, rule.member], only, status };
    }
  }
}

/** Before the unwrap, the paths of a member that ends up in a response lead through the wrapper. */
function invertMove(rule: MoveRule, base: Path, wrapper: string | undefined): ResponseMoveRule | undefined {
  const from = insideOf([...rule.in, ...rule.to], wrapper);
  const to = insideOf([...rule.in, ...rule.from], wrapper);
  if (from === undefined || to === undefined || from.length === 0 || to.length === 0) return undefined;
  const isWrapped = wrapper !== undefined;
  const common = rule.in.length - (isWrapped && rule.in.length > 0 ? 1 : 0);
  const path = [...base, ...from.slice(0, common)];
  return { rule: 'move', path, from: from.slice(common), to: to.slice(common), status: ['2xx'] };
}

/** The value of a `default`; undefined for an object or a list. */
function scalarOfJson({ json, value }: SetRule): JsonScalar | undefined {
  if (typeof value === 'object' && value !== null) return undefined;
  return typeof value === 'string' ? { isString: true, text: value } : { isString: false, text: json };
}

/** The rule that undoes a header rule in a response; undefined if there is nothing to undo. */
export function inverseHeaderRule(rule: HeaderRule): ResponseHeaderRule['rule'] | undefined {
  if (rule.rule === 'rename' && rule.as === undefined)
    return { rule: 'rename', field: rule.to, to: rule.field };
  if (rule.rule !== 'map') return undefined;
  const values = inverseValues(rule.values);
  return values.length === 0 ? undefined : { rule: 'map', field: rule.field, values };
}

/**
 * Returns the values of a map in the other direction. A value that several values map to has no inverse, so it is left out and
 * stays as it is.
 */
export function inverseValues(values: readonly MappedValue[]): readonly MappedValue[] {
  const times = new Map<string, number>();
  for (const { to } of values) times.set(printScalar(to), (times.get(printScalar(to)) ?? 0) + 1);
  return values
    .filter(({ to }) => times.get(printScalar(to)) === 1)
    .map(({ from, to }) => ({ from: to, to: from }));
}
