import { typeFaults } from './type-faults.ts';

/** A panel of a dashboard; rows are panels as well. */
export interface GrafanaPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

/** A dashboard as its file declares it. */
export interface GrafanaDashboard {
  readonly panels: readonly GrafanaPanel[];
  readonly annotations: { readonly list: readonly { readonly target: { readonly expr: string } }[] };
}

const COMPOSABLE = '@grafana/schema/dist/esm/raw/composable';

/**
 * What Grafana's own schema says against a dashboard: unknown members, wrong words and wrong types, also in the options of the panels.
 * Grafana fills in what is left out.
 */
export function grafanaFaults({ panels, ...board }: GrafanaDashboard): readonly string[] {
  return typeFaults(
    [
      "import type { AnnotationQuery, Dashboard, Panel, RowPanel } from '@grafana/schema';",
      ...Object.entries(PANELS).map(
        ([type, name]) =>
          `import type * as ${type} from '${COMPOSABLE}/${type}/panelcfg/x/${name}PanelCfg_types.gen';`,
      ),
      // JSON has words where the schema has enums.
      'type Json<T> = unknown extends T ? T : T extends string ? `${T}` : T extends readonly (infer E)[] ? Json<E>[]',
      '  : T extends object ? { [K in keyof T]?: Json<T[K]> } : T;',
      "type Kind<O, F> = Json<Omit<Panel, 'options' | 'fieldConfig'>> & {",
      "  options: Json<O>; fieldConfig: { overrides: []; defaults: Json<Omit<NonNullable<Panel['fieldConfig']>['defaults'], 'custom'>> & { custom?: Json<F> } } };",
      // The members that Prometheus' own plugin reads of an annotation.
      "type Annotation = Json<Omit<AnnotationQuery, 'target'>> & { titleFormat?: string; target: { refId: string; expr: string } };",
      `export const board: Json<Omit<Dashboard, 'panels' | 'annotations'>> & { annotations: { list: Annotation[] } } = ${JSON.stringify(board)};`,
      ...panels.map((panel, index) => `export const p${index}: ${typeOf(panel)} = ${JSON.stringify(panel)};`),
    ].join('\n'),
  );
}

const PANELS: Readonly<Record<string, string>> = { timeseries: 'TimeSeries', stat: 'Stat', table: 'Table' };

function typeOf({ type }: GrafanaPanel): string {
  if (type === 'row') return 'Json<RowPanel>';
  if (type === 'stat') return 'Kind<stat.Options, {}>';
  return `Kind<${type}.Options, ${type}.FieldConfig>`;
}
