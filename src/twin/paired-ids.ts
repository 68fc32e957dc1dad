/** An id of whole digits, a UUID or a ULID; in JSON, with or without quotes. */
const ID = /^"?(?:[1-9]\d{0,19}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\dA-HJKMNP-TV-Z]{26})"?$/i;

const TOKEN = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d+/gi;

/**
 * The ids by which the two services call the same resource. Each service numbers its own; the first time that two ids stand in the
 * same place they are taken for one resource, and from then on each must always stand for the other.
 */
export class PairedIds {
  private readonly kinds = new Map<string, Pairs>();

  /**
   * True when two spellings of an id stand for the same resource of a kind. An id that `isSent`, the client's own text, is no id
   * that a service made up: it is new to none of them.
   */
  agree(kind: string, v1: string, gateway: string, isSent: boolean): boolean {
    if (!this.mayAgree(kind, v1, gateway, isSent)) return false;
    const pairs = this.pairsOf(kind);
    if (!isSent && !pairs.forward.has(v1)) {
      pairs.forward.set(v1, gateway);
      pairs.backward.set(gateway, v1);
    }
    return true;
  }

  /** Whether `agree` would be true, without that anything is learned: for trying out which elements belong together. */
  mayAgree(kind: string, v1: string, gateway: string, isSent: boolean): boolean {
    const pairs = this.pairsOf(kind);
    const [known, reverse] = [pairs.forward.get(v1), pairs.backward.get(gateway)];
    if (known === gateway) return true;
    if (isSent) return v1 === gateway;
    return known === undefined && reverse === undefined && ID.test(v1) && ID.test(gateway);
  }

  /** True when two texts are equal but for ids of the same resources. */
  agreeInText(v1: string, gateway: string): boolean {
    if (v1 === gateway) return true;
    if (v1.replaceAll(TOKEN, '\0') !== gateway.replaceAll(TOKEN, '\0')) return false;
    const others = gateway.match(TOKEN) ?? [];
    return (v1.match(TOKEN) ?? []).every(
      (token, at) => token === others[at] || this.knows(token, others[at]),
    );
  }

  private knows(v1: string, gateway: string | undefined): boolean {
    return [...this.kinds.values()].some(({ forward }) => {
      return (forward.get(v1) ?? forward.get(`"${v1}"`)?.slice(1, -1)) === gateway;
    });
  }

  private pairsOf(kind: string): Pairs {
    const known = this.kinds.get(kind);
    if (known !== undefined) return known;
    const pairs: Pairs = { forward: new Map(), backward: new Map() };
    this.kinds.set(kind, pairs);
    return pairs;
  }
}

interface Pairs {
  readonly forward: Map<string, string>;
  readonly backward: Map<string, string>;
}

/** The kind of resource that a member holds the id of; undefined when it holds none. `collection` is the request's. */
export function kindOfId(path: readonly (string | number)[], collection: string): string | undefined {
  const name = path.at(-1);
  if (typeof name !== 'string') return undefined;
  if (name !== 'id' && name !== 'uuid') return name.endsWith('_id') ? name.slice(0, -3) : undefined;
  const holder = path.slice(0, -1).findLast((step) => typeof step === 'string' && step !== 'data');
  return typeof holder === 'string' ? singular(holder) : collection;
}

/** The kind of the resources at a target: the last segment of its path that is no id. */
export function collectionOf(target: string): string {
  const [path = ''] = target.split(/[?#]/, 1);
  const segments = path
    .replace(/\/?(?:\.json)?$/, '')
    .split('/')
    .filter((segment) => !ID.test(segment));
  return singular(segments.at(-1) ?? '');
}

function singular(name: string): string {
  return name.replace(/ies$/, 'y').replace(/s$/, '');
}
