import { generalPointer, leafPointers, tokenName } from '../json/pointer.ts';
import { parsedJson } from '../rewrite-log/attributes.ts';
import type { KeptBody, KeptExchange } from '../rewrite-log/capture.ts';
import type { Entry } from '../rewrite-log/entry.ts';

/** Responses of V1 from which it is known that they always have a member, and of V2 that they never have it. */
const ENOUGH_V1 = 3;
const ENOUGH_V2 = 5;

/** Maximum responses of a service to one operation that are read. */
const MAX_RESPONSES = 50;

const decoder = new TextDecoder();

/** The places in responses of one service, with the numbers of values there: several in one response below a list. */
class Places {
  responses = 0;
  readonly counts = new Map<string, number>();

  add(body: KeptBody): void {
    if (this.responses >= MAX_RESPONSES) return;
    const places = placesIn(body);
    if (places === undefined) return;
    this.responses += 1;
    for (const place of places) {
      const general = generalPointer(place);
      this.counts.set(general, (this.counts.get(general) ?? 0) + 1);
    }
  }

  of(place: string): number {
    return place === '' ? this.responses : (this.counts.get(place) ?? 0);
  }
}

/** The kept responses to one operation, as clients of V1 got them: those of V1, and V2's after the rules. */
export class KeptResponses {
  private readonly v1 = new Places();
  private readonly v2 = new Places();

  /** Adds a success. */
  add({ origin, status, failure, incomplete }: Entry, { clientResponse }: KeptExchange): void {
    if (clientResponse === undefined || failure !== undefined || incomplete === true) return;
    if (status < 200 || status >= 300) return;
    (origin === 'v1' ? this.v1 : this.v2).add(clientResponse.body);
  }

  /** Members that every response of V1 has, and none of V2's; or, by its description, that V2 does not name anywhere in its response. */
  lacking(named?: ReadonlySet<string>): readonly string[] {
    const lacking = this.always.filter(
      ([place, parent]) =>
        this.v2.of(place) === 0 && (this.v2.of(parent) >= ENOUGH_V2 || named?.has(lastName(place)) === false),
    );
    const places = lacking.map(([place]) => place);
    return places.filter((place) => !places.some((other) => place.startsWith(`${other}/`)));
  }

  /** Members that every response of V1 has, and this one of V2 does not. */
  lackingIn(body: KeptBody): readonly string[] {
    const found = placesIn(body);
    if (found === undefined) return [];
    const places = new Set([...found].map(generalPointer));
    return this.always
      .filter(([place, parent]) => !places.has(place) && (parent === '' || places.has(parent)))
      .map(([place]) => place);
  }

  /** Members that every object of V1's responses has at its place, with the place of the object. */
  private get always(): readonly (readonly [place: string, parent: string])[] {
    return [...this.v1.counts].flatMap(([place, times]) => {
      const parent = place.slice(0, place.lastIndexOf('/'));
      const isMember = !place.endsWith('/*') && times >= ENOUGH_V1;
      return isMember && times === this.v1.of(parent) ? [[place, parent] as const] : [];
    });
  }
}

function lastName(place: string): string {
  return tokenName(place.slice(place.lastIndexOf('/') + 1));
}

/** The places of all members and elements of a body; undefined for a body that was not kept as JSON. */
function placesIn({ bytes }: KeptBody): ReadonlySet<string> | undefined {
  const value = bytes === undefined ? undefined : parsedJson(decoder.decode(bytes));
  if (typeof value !== 'object' || value === null) return undefined;
  const places = new Set<string>();
  for (const leaf of leafPointers(value))
    for (let place = leaf; place !== '' && !places.has(place); place = place.slice(0, place.lastIndexOf('/')))
      places.add(place);
  return places;
}
