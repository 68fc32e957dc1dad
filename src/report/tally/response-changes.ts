import { generalPointer } from '../../json/json-pointer.ts';
import { firstUse, recordUse, type Span } from './span.ts';
import type { TallyEntry } from './tally-entry.ts';

/** Comparison of a response with V2's; `silent` for one that has no members which rules could name. */
export type ResponseSide = 'same' | 'different' | 'unknown' | 'silent';

/** Maximum differing members of one client. */
const MAX_MEMBERS = 100;

/** A member that a client reads from V1's responses, with its place in V2's. */
export interface DifferingMember {
  readonly change: string;
  /** Pointer in V1's response, `*` for every index. */
  readonly v1: string;
  /** Pointer in V2's response; absent when it is not there. */
  readonly v2?: string;
  /** True where V2 has the member with values of its own, which a `map` turns into V1's. */
  readonly hasOtherValues?: true;
}

/** What tells one member from others: a renamed member whose values are mapped too is two, each with a change of its own. */
export function memberKey({ change, v1, v2, hasOtherValues }: DifferingMember): string {
  return `${change} ${v1} ${v2 ?? ''}${hasOtherValues === true ? ' values' : ''}`;
}

interface ListedMember extends DifferingMember {
  readonly key: string;
}

/** The members of one list, and the changes that concern them, each once. */
interface ListedMembers {
  readonly members: readonly ListedMember[];
  readonly changes: readonly string[];
}

interface ListedEdit {
  readonly change: string;
  readonly rule?: string;
  readonly from?: string;
  readonly path?: string;
}

/** Members of a client's responses by key. */
export type DifferingMembers = Map<string, Span & DifferingMember>;

/** Judges responses by the members that V2 has elsewhere; each list is read once, for the gateway shares them. */
export class ResponseChanges {
  private readonly known = new WeakMap<object, ListedMembers>();

  /** Judges the response of one exchange, and counts the members that differ in `members`. */
  add(entry: TallyEntry, members: DifferingMembers): ResponseSide {
    const list = listOf(entry);
    const listed = list === undefined ? [] : this.listed(list).members;
    if (listed.length > 0) {
      for (const { key, ...member } of listed) countMember(members, key, member, entry.time);
      return 'different';
    }
    if (entry.failure !== undefined || !mayDiffer(entry)) return 'silent';
    if (entry.origin === 'v1') return list === undefined ? 'unknown' : 'same';
    return entry.responseNote === undefined ? 'same' : 'unknown';
  }

  /** The changes that concern members of a response, each once. */
  changesOf(entry: TallyEntry): readonly string[] {
    const list = listOf(entry);
    return list === undefined ? [] : this.listed(list).changes;
  }

  private listed(list: readonly ListedEdit[]): ListedMembers {
    const known = this.known.get(list);
    if (known !== undefined) return known;
    const members = new Map<string, ListedMember>();
    for (const { change, rule, from, path } of list) {
      // Errors follow from the names in the request. Without a path, a second spelling or an empty container was dropped.
      if (rule === 'errors' || path === undefined) continue;
      const v1 = generalPointer(path);
      const member: DifferingMember =
        rule === 'map'
          ? { change, v1, v2: generalPointer(from ?? placeInV2(path, list)), hasOtherValues: true }
          : { change, v1, ...(from === undefined ? {} : { v2: generalPointer(from) }) };
      const key = memberKey(member);
      members.set(key, { key, ...member });
    }
    const listed = {
      members: [...members.values()],
      changes: [...new Set([...members.values()].map(({ change }) => change))],
    };
    this.known.set(list, listed);
    return listed;
  }
}

function listOf(entry: TallyEntry): readonly ListedEdit[] | undefined {
  return entry.origin === 'v1' ? entry.responseWould : entry.responseEdits;
}

function countMember(members: DifferingMembers, key: string, member: DifferingMember, time: string): void {
  const known = members.get(key);
  if (known !== undefined) recordUse(known, time);
  else if (members.size < MAX_MEMBERS) members.set(key, { ...firstUse(time), ...member });
}

/** A success with a body can differ; errors name no members of resources. */
function mayDiffer({ status }: TallyEntry): boolean {
  return status >= 200 && status < 300 && status !== 204;
}

/** Where V2 has the member at `path` of V1's response, by the other edits: logs of earlier releases do not say it of a mapped value. */
function placeInV2(path: string, list: readonly ListedEdit[]): string {
  let [moved, to] = ['', ''];
  for (const edit of list) {
    if (edit.from === undefined || edit.path === undefined || edit.path.length < to.length) continue;
    if (path !== edit.path && !path.startsWith(`${edit.path}/`)) continue;
    [moved, to] = [edit.from, edit.path];
  }
  return moved + path.slice(to.length);
}
