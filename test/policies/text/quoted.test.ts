/** What every generator makes of names that were chosen to be more than names. */

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';

import { layOutChart } from '../../../scripts/charts/chart-layout.ts';
import { chartSvg } from '../../../scripts/charts/chart-svg.ts';
import { CallMetrics } from '../../../src/gateway/call-metrics.ts';
import { literal, quotedFor } from '../../../src/policies/text/quoted.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';
import { chartMermaid } from '../../../src/testing/chart-mermaid.ts';
import { readOpenMetrics } from '../../support/open-metrics.ts';

const hostile = [
  "0;});require('node:child_process').execSync('touch pwned');(async()=>{//",
  '"; process.exit(1); "',
  '`${process.exit(1)}`',
  '*/ process.exit(1) /*',
  'a\nprocess.exit(1)//\r\nb\u2028process.exit(1)//\u2029c',
  "$(touch pwned) `touch pwned` '; touch pwned; #",
  '</title><script>alert(1)</script><text onload="alert(1)">',
  '"><img src=x onerror=alert(1)>',
  ']]>--> : x\n[*] --> evil\nclick a href "javascript:alert(1)"',
  'a"} 1\n# EOF\nevil{b="',
  'back\\slash\\n\\"',
  '__proto__',
  'constructor',
  '-rf',
  '\u0000\u001b[2J\ud800',
];
const anyText = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: 'binary' }));

describe('untrusted text', () => {
  it('stays one string in a script', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const program = `(${quotedFor('script', text)});`;
        const file = ts.createSourceFile('a.ts', program, ts.ScriptTarget.Latest, true);
        expect(file.statements).toHaveLength(1);
        const [statement] = file.statements;
        const read = ts.isExpressionStatement(statement as ts.Node)
          ? (statement as ts.ExpressionStatement).expression
          : undefined;
        const inner = (read as ts.ParenthesizedExpression).expression;
        expect(ts.isStringLiteral(inner) && inner.text).toBe(text);
        expect(quotedFor('script', text)).not.toMatch(/[\n\r\u2028\u2029]/u);
      }),
    );
  });

  it('stays data in a script, regardless of field names', () => {
    const data = fc.dictionary(anyText, fc.oneof(anyText, fc.integer(), fc.constant(null)));
    fc.assert(
      fc.property(data, (value) => {
        const given = JSON.parse(JSON.stringify(value)) as object;
        // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval
        const read = new Function(`return (${literal(given, 2)});`)() as object;
        expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
        expect(JSON.stringify(read)).toBe(JSON.stringify(given));
      }),
    );
    expect(literal({ ['__proto__']: { polluted: 'a"__proto__":b' } })).toBe(
      '{["__proto__"]:{"polluted":"a\\"__proto__\\":b"}}',
    );
  });

  it('stays one word on a command line', () => {
    const words = hostile.filter((text) => !text.includes('\u0000'));
    const line = words.map((text) => quotedFor('shell', text)).join(' ');
    const read = execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' });
    expect(read.split('\0').slice(0, -1)).toEqual(words);
  });

  it('stays plain text in markup', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const written = quotedFor('markup', text);
        // oxlint-disable-next-line no-control-regex
        expect(written).not.toMatch(/[<>"'\r\n\t\u0000-\u001f\ud800-\udfff\ufffe\uffff]/u);
        expect(written.replace(/&(?:amp|lt|gt|quot|#\d+);/gu, '')).not.toContain('&');
      }),
    );
  });

  it('stays one label in Mermaid', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const rest = quotedFor('mermaid', text).replace(/#\d+;/gu, '');
        expect(rest).not.toMatch(/[#:;"'`<>&\\\n\r\t\u2028\u2029]/u);
      }),
    );
  });

  it('stays one label value in metrics', () => {
    fc.assert(
      fc.property(anyText, (server) => {
        const troupe = {
          snapshot: () => ({ servers: [{ name: server, state: 'ready', restarts: 1, tools: 2 }] }),
          on: () => () => undefined,
        } as unknown as Troupe;
        const metrics = new CallMetrics(troupe);
        metrics.ended(server, 'ok', 5);
        const families = readOpenMetrics(metrics.text({ clients: 0, callsInFlight: 0 }));
        const samples = families.get('mcp_troupe_calls')?.samples;
        // oxlint-disable-next-line no-control-regex
        const shown = server.replace(/[\u0000\v\f\r\u0085\u2028\u2029]/gu, '\ufffd');
        expect(samples).toMatchObject([{ labels: { server: shown, code: 'ok' }, value: 1 }]);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a chart diagram with untrusted names', () => {
  const machine = createMachine({
    id: 'chart',
    initial: (hostile[0] ?? '').replaceAll('.', '_'),
    states: Object.fromEntries(
      hostile.map((name, place) => [
        name.replaceAll('.', '_'),
        {
          on: {
            [`evil ${hostile[(place + 3) % hostile.length]}`]: {
              target: `#${place === 0 ? 'last' : 'chart'}`,
              guard: hostile[(place + 5) % hostile.length] ?? '',
            },
          },
          ...(place === hostile.length - 1 ? { id: 'last' } : {}),
        },
      ]),
    ),
  });

  it('contains only its own lines in Mermaid', () => {
    const own =
      /^ *(?:stateDiagram-v2|direction LR|\[\*\] --> \w+|state "[^"]*" as \w+(?: \{)?|\}|\w+ --> \w+ : [^"<>]*(?:<br>[^"<>]*)*|\w+ --> \[\*\])$/u;
    for (const line of chartMermaid(machine).trimEnd().split('\n')) expect(line).toMatch(own);
  });

  it('contains only its own elements and attributes in SVG', async () => {
    const svg = chartSvg(await layOutChart(machine, {}), hostile.join(' '));
    const tag = /<\/?([\w-]+)((?: [\w:-]+="[^"<>]*")*) ?\/?>/gu;
    const tags = [...svg.matchAll(tag)];
    const styles = /<style>[^<]*<\/style>/u;
    expect(svg.replace(styles, '').replace(tag, '')).not.toMatch(/[<>]/u);
    const own = new Set(['svg', 'title', 'style', 'g', 'rect', 'path', 'circle', 'text']);
    for (const [, name = '', attributes = ''] of tags) {
      expect(own).toContain(name);
      const attributeNames = [...attributes.matchAll(/ ([\w:-]+)="[^"]*"/gu)].map(
        ([, each]) => each,
      );
      expect(attributeNames.join(' ')).not.toMatch(/\b(?:on\w+|href|style)\b/u);
    }
  });
});
