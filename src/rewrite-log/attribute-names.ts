import { pointerOf } from '../json/json-pointer.ts';
import { JsonWalker } from '../json/json-walk.ts';

/** Names kept of one body, and characters of one pointer: a body whose names are data cannot flood the log. */
const NAMES = 64;
const LENGTH = 120;

/** Lists the members of a JSON body as pointers with `*` for elements, each once, in document order; empty when it is not JSON. */
export class AttributeNames {
  private readonly walker = new JsonWalker();

  of(body: Uint8Array): readonly string[] {
    const names = new Set<string>();
    this.walker.walk(body, {
      enter: ({ path }) => {
        if (names.size >= NAMES || typeof path.at(-1) !== 'string') return;
        const pointer = pointerOf(path.map((step) => (typeof step === 'number' ? '*' : step)));
        if (pointer.length <= LENGTH) names.add(pointer);
      },
    });
    return [...names];
  }
}
