import { queryParts } from '../../http/target.ts';
import { generalPointer } from '../../json/pointer.ts';
import { MovedMembers } from '../../rewrite-log/response-findings.ts';
import { type EditRecord, isOfBody } from '../../rewrite/records.ts';
import type { GuideShape } from './guide-document.ts';
import { MASKED } from './guide-fields.ts';

/** Requests of one call that one example shows: all their members and parameters, and where each is in V2. */
export interface ExampleShape extends GuideShape {
  /** The shapes that it puts together. */
  readonly parts: readonly GuideShape[];
  /** Members and parameters that were last sent under an earlier rule book, as its rules placed them. */
  readonly earlier: readonly string[];
}

/**
 * Leaves out shapes of earlier rule books whose request the newest one shows as well, and puts together those that differ only by what the
 * rules made of a value.
 */
export function currentShapes(shapes: readonly GuideShape[]): readonly GuideShape[] {
  const newest = newestBook(shapes);
  const kept = new Map<string, GuideShape[]>();
  for (const shape of shapes.toSorted(newestFirst(newest))) {
    const same = kept.get(sentKey(shape)) ?? [];
    kept.set(sentKey(shape), same);
    const home = same.find(
      (one) => shape.ruleBook !== newest || one.ruleBook !== newest || placesKey(one) === placesKey(shape),
    );
    if (home === undefined) {
      same.push({ ...shape, refusedAt: new Map(shape.refusedAt) });
      continue;
    }
    home.count += shape.count;
    if (shape.last > home.last) home.last = shape.last;
    if (shape.ruleBook !== home.ruleBook) continue;
    home.byV2 += shape.byV2;
    home.bySchema += shape.bySchema;
    for (const [at, times] of shape.refusedAt) home.refusedAt.set(at, (home.refusedAt.get(at) ?? 0) + times);
    home.edits = unionOf(home.edits, shape.edits);
  }
  return [...kept.values()].flat();
}

/** Puts the shapes of a call together that can be one request: those with the same wrapper and target, apart from those that fail. */
export function exampleShapes(
  shapes: readonly GuideShape[],
  isFailing: (shape: GuideShape) => boolean,
): readonly ExampleShape[] {
  const newest = newestBook(shapes);
  const groups = Map.groupBy(shapes.toSorted(newestFirst(newest)), (shape) => {
    const { attributes, hasBody, note, edits } = shape;
    const { wrapper } = new MovedMembers(edits.filter((edit) => isOfBody(edit)));
    const isRead = attributes !== undefined && attributes.length > 0;
    return JSON.stringify([hasBody, note ?? '', hasBody && isRead, wrapper, isFailing(shape)]);
  });
  return [...groups.values()].map((parts) => together(parts, newest));
}

function together(parts: readonly GuideShape[], newest: string): ExampleShape {
  const [first] = parts;
  if (first === undefined) throw new Error('a group has a shape');
  const current = parts.filter(({ ruleBook }) => ruleBook === newest);
  const known = new Set((current.length === 0 ? parts : current).flatMap(namesIn));
  const isKnown = (edit: EditRecord): boolean =>
    edit.header !== undefined || edit.from === undefined || known.has(placeOf(edit.from));
  let edits: readonly EditRecord[] = [];
  for (const part of parts) {
    const isEarlier = current.length > 0 && part.ruleBook !== newest;
    edits = unionOf(edits, isEarlier ? part.edits.filter((edit) => !isKnown(edit)) : part.edits);
  }
  const attributes = parts.some((part) => part.attributes === undefined)
    ? undefined
    : [...new Set(parts.flatMap((part) => part.attributes ?? []))];
  const refusedAt = new Map<string, number>();
  for (const part of parts)
    for (const [at, times] of part.refusedAt) refusedAt.set(at, (refusedAt.get(at) ?? 0) + times);
  const sum = (of: (part: GuideShape) => number): number =>
    parts.reduce((total, part) => total + of(part), 0);
  return {
    ...first,
    edits,
    attributes,
    path: withQueryOf(first.path, parts),
    count: sum(({ count }) => count),
    last: parts.reduce((latest, { last }) => (last > latest ? last : latest), ''),
    byV2: sum(({ byV2 }) => byV2),
    bySchema: sum(({ bySchema }) => bySchema),
    refusedAt,
    parts,
    earlier: outermost(
      parts.flatMap((part) => (current.length === 0 ? [] : namesIn(part).filter((name) => !known.has(name)))),
    ),
  };
}

/** Edits of both, each once; of a place that the first ones know only what they say. */
function unionOf(first: readonly EditRecord[], others: readonly EditRecord[]): readonly EditRecord[] {
  const seen = new Set(first.map((edit) => JSON.stringify(edit)));
  const targets = Map.groupBy(first, sourceOf);
  const added = others.filter((edit) => {
    if (seen.has(JSON.stringify(edit))) return false;
    const known = targets.get(sourceOf(edit));
    return known === undefined || known.some(({ path, to }) => path === edit.path && to === edit.to);
  });
  return [...first, ...added];
}

function sourceOf({ from, header, path, to }: EditRecord): string {
  if (header !== undefined) return `${header.toLowerCase()}: ${from ?? ''}`;
  return from === undefined ? `added ${path ?? to ?? ''}` : generalPointer(from);
}

/** Members and parameters of a request, as edits name them. */
function namesIn({ attributes = [], path }: GuideShape): readonly string[] {
  return [...attributes.map(placeOf), ...parametersOf(path).map(({ name }) => `?${name}`)];
}

function placeOf(place: string): string {
  return place.startsWith('?') ? place : generalPointer(place);
}

function parametersOf(path: string): ReturnType<typeof queryParts> {
  const mark = path.indexOf('?');
  return mark === -1 ? [] : queryParts(path.slice(mark + 1));
}

/** A target with the parameters of all parts, each once. */
function withQueryOf(path: string, parts: readonly GuideShape[]): string {
  const raw = new Map(
    parts.flatMap((part) => parametersOf(part.path)).map((parameter) => [parameter.name, parameter.raw]),
  );
  const [own = ''] = path.split('?', 1);
  return raw.size === 0 ? own : `${own}?${[...raw.values()].join('&')}`;
}

/** Members without those that are inside others of the list. */
function outermost(places: readonly string[]): readonly string[] {
  const all = new Set(places);
  return [...all].filter((place) => ![...all].some((outer) => place.startsWith(`${outer}/`)));
}

function newestBook(shapes: readonly GuideShape[]): string {
  return shapes.reduce((latest, shape) => (shape.last > latest.last ? shape : latest), {
    last: '',
    ruleBook: '',
  }).ruleBook;
}

function newestFirst(newest: string) {
  return (one: GuideShape, other: GuideShape): number =>
    Number(other.ruleBook === newest) - Number(one.ruleBook === newest) || other.count - one.count;
}

/** Identifies what the client sent, before any rule. */
function sentKey({ attributes, hasBody, note, path }: GuideShape): string {
  const parameters = parametersOf(path).map(({ name }) => name);
  return JSON.stringify([attributes ?? null, hasBody, note ?? '', parameters]);
}

/** Where the rules put it. */
function placesKey({ edits }: GuideShape): string {
  const moved = edits.filter(
    ({ from, path, header, to }) => header !== undefined || from === undefined || from !== (path ?? to),
  );
  return JSON.stringify(
    moved.map(({ from, path, header, to, note }) => [
      from ?? '',
      path ?? '',
      header ?? '',
      to ?? '',
      note ?? '',
    ]),
  );
}

/**
 * A printed request with the rule book's path and query instead of those from the log, whose ids are values; ids of other paths are
 * masked.
 */
export function withTemplate(
  text: string,
  place: string | undefined,
  prefixes: readonly string[] = [],
): string {
  const [line = ''] = text.split('\n', 1);
  const [method = '', target = ''] = line.split(' ');
  const [path = '', query] = target.split('?', 2);
  const [template = '', ofPlace = ''] = place?.split('?', 2) ?? [];
  const rest = text.slice(line.length);
  const asked = query === undefined ? '' : `?${query}`;
  const [own, ...others] = prefixes;
  for (const prefix of [own ?? '', ...others]) {
    const there = prefix === own ? template : prefix + template.slice(own?.length ?? 0);
    if (place === undefined || !isThere(path, there)) continue;
    const known = new Map(ofPlace.split('&').map((part) => [part.split('=', 1)[0], part]));
    const parts = query?.split('&').map((part) => known.get(part.split('=', 1)[0]) ?? part);
    return `${method} ${there}${parts === undefined ? '' : `?${parts.join('&')}`}${rest}`;
  }
  const masked = path
    .split('/')
    .map((segment) => (isId(segment) ? MASKED : segment))
    .join('/');
  return `${method} ${masked}${asked}${rest}`;
}

/** Whether a path fits a template; the operator's own program may use another one. */
function isThere(path: string, template: string): boolean {
  const [segments, sent] = [template.split('/'), path.split('/')];
  return (
    segments.length === sent.length && segments.every((segment, at) => isOfSegment(sent[at] ?? '', segment))
  );
}

/** Whether a segment of a path fits one of a template, such as `inv_{id}`. */
function isOfSegment(segment: string, template: string): boolean {
  const [open, close] = [template.indexOf('{'), template.lastIndexOf('}')];
  if (open === -1 || close < open) return segment === template;
  const [before, after] = [template.slice(0, open), template.slice(close + 1)];
  const isLonger = segment.length > before.length + after.length;
  return isLonger && segment.startsWith(before) && segment.endsWith(after);
}

/** Whether a segment of a path is an id: a number, a UUID or a masked value. */
export function isId(segment: string): boolean {
  return /^\d+$/.test(segment) || /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(segment) || segment === MASKED;
}
