import { generalPointer } from '../json/json-pointer.ts';
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
}

interface ListedMember extends DifferingMember {
  readonly key: string;
}

/** Members of a client's responses by key. */
export type DifferingMembers = Map<string, Span & DifferingMember>;

/** Judges responses by the members that V2 has elsewhere; each list is read once, for the gateway shares them. */
export class ResponseChanges {
  private readonly known = new WeakMap<object, readonly ListedMember[]>();

  /** Judges the response of one exchange, and counts the members that differ in `members`. */
  add(entry: TallyEntry, members: DifferingMembers): ResponseSide {
    const list = entry.origin === 'v1' ? entry.responseWould : entry.responseEdits;
    if (list !== undefined && list.length > 0) {
      for (const { key, ...member } of this.membersOf(list)) countMember(members, key, member, entry.time);
      return 'different';
    }
    if (entry.failure !== undefined || !mayDiffer(entry)) return 'silent';
    if (entry.origin === 'v1') return list === undefined ? 'unknown' : 'same';
    return entry.responseNote === undefined ? 'same' : 'unknown';
  }

  private membersOf(
    list: readonly { readonly change: string; readonly from?: string; readonly path?: string }[],
  ): readonly ListedMember[] {
    const known = this.known.get(list);
    if (known !== undefined) return known;
    const members = new Map<string, ListedMember>();
    for (const { change, from, path } of list) {
      // Dropped from V2's response: a second spelling of a member, or a container that became empty.
      if (path === undefined) continue;
      const v1 = generalPointer(path);
      const place = from === undefined ? {} : { v2: generalPointer(from) };
      const key = `${change} ${v1} ${place.v2 ?? ''}`;
      members.set(key, { key, change, v1, ...place });
    }
    const listed = [...members.values()];
    this.known.set(list, listed);
    return listed;
  }
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
