import { exchange, type Script, type ScriptedExchange } from './script.ts';

/** One step of a random sequence. `which` picks one of the resources that earlier steps created. */
export type Step =
  | { readonly do: 'create'; readonly path: string; readonly body: string }
  | { readonly do: 'update'; readonly which: number; readonly body: string }
  | { readonly do: 'read' | 'head' | 'delete'; readonly which: number }
  | { readonly do: 'list'; readonly path: string; readonly query: string }
  | {
      readonly do: 'mistake';
      readonly method: string;
      readonly path: string;
      readonly media: string;
      readonly body: string;
    }
  | { readonly do: 'stranger'; readonly path: string; readonly authorization: string };

/** Writes a random sequence as a script, so that it can be printed, kept and played again. */
export function sequenceScript(title: string, steps: readonly Step[]): Script {
  const created: string[] = [];
  const properties: string[] = [];
  const exchanges = steps.map((step, at): ScriptedExchange => {
    const name = `${at + 1}. ${step.do}`;
    switch (step.do) {
      case 'create': {
        const keeps: (readonly [string, string])[] = [
          [`one${at}`, '/data/id'],
          [`property${at}`, '/data/property_id'],
        ];
        created.push(`${step.path}/\${one${at}}`);
        // Only a property that the step itself makes: others may have none.
        if (step.body.includes('"property"')) properties.push(`/properties/\${property${at}}`);
        return exchange(name, `POST /api/v1${step.path}`, { body: step.body, keeps });
      }
      case 'update':
        return exchange(name, `PATCH /api/v1${pick(properties, step.which, '/properties/1')}`, {
          body: step.body,
        });
      case 'read':
        return exchange(name, `GET /api/v1${pick([...created, ...properties], step.which, '/clients/1')}`);
      case 'head':
        return exchange(name, `HEAD /api/v1${pick([...created, ...properties], step.which, '/clients/1')}`);
      case 'delete':
        return exchange(name, `DELETE /api/v1${pick([...created, ...properties], step.which, '/clients/1')}`);
      case 'list':
        return exchange(name, `GET /api/v1${step.path}${step.query}`);
      case 'mistake':
        return exchange(name, `${step.method} /api/v1${step.path}`, {
          headers: [['Content-Type', step.media]],
          body: step.body,
        });
      case 'stranger':
        return exchange(name, `GET /api/v1${step.path}`, {
          headers: [['Authorization', step.authorization]],
        });
    }
  });
  return { title, settings: {}, exchanges };
}

function pick(paths: readonly string[], which: number, otherwise: string): string {
  return paths[which % Math.max(1, paths.length)] ?? otherwise;
}
