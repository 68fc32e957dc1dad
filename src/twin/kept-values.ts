import { JsonWalker } from '../json/json-walk.ts';
import { pointerOf } from '../json/json-pointer.ts';
import { namesIn, type ScriptedExchange } from './script.ts';

/** The values that one service's responses gave, by the name under which the script uses them. */
export class KeptValues {
  private readonly values = new Map<string, string>();

  constructor(key: string) {
    this.values.set('key', key);
  }

  /** Keeps the values at the pointers of a response body, as spelled; a place that is not there keeps the value of before. */
  keep(keeps: ScriptedExchange['keeps'], body: Uint8Array): void {
    if (keeps.length === 0) return;
    const found = new Map<string, string>();
    new JsonWalker().walk(body, {
      enter: ({ path, start, end }) => {
        found.set(pointerOf(path), new TextDecoder().decode(body.subarray(start, end)));
        return undefined;
      },
    });
    for (const [name, pointer] of keeps) {
      const value = found.get(pointer);
      if (value !== undefined) this.values.set(name, value);
    }
  }

  /** Name of a value that the exchange needs, and no response has given yet. */
  missing({ target, headers, body = '' }: ScriptedExchange): string | undefined {
    return [target, body, ...headers.flat()]
      .flatMap((text) => namesIn(text))
      .find((name) => !this.values.has(name));
  }

  /** Fills in the values as JSON. A value that no response has given stays as its name. */
  inBody(text: string): string {
    return this.fill(text, (value) => value);
  }

  /** Fills in the values without quotes; in a target, percent-encoded. */
  inTarget(text: string): string {
    return this.fill(text, (value) => encodeURIComponent(unquoted(value)));
  }

  inField(text: string): string {
    return this.fill(text, unquoted);
  }

  private fill(text: string, print: (value: string) => string): string {
    return text.replaceAll(/\$\{([\w-]+)\}/g, (_, name: string) => print(this.values.get(name) ?? name));
  }
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1) : value;
}
