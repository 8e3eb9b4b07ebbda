/**
 * Splits a spec into the facts that an approval is based on, and compares two specs.
 * Secrets are not kept; a changed secret shows in its digest.
 */

import type { ApprovalChange, SpecFact } from '../../domain/host/approval.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { digestOf } from '../fingerprint.ts';
import { proxySecrets } from '../proxy-variables.ts';
import { isSecretField, logInFacts, reachTexts, textsOf } from '../spec-texts.ts';
import { isPem } from '../text/pem.ts';
import { looksSecret, redact, secretsInArgs, secretsInText, secretsOf } from '../text/redact.ts';

type Value = readonly [field: string, value: string];

/**
 * Facts about a server from outside its settings: where its command leads, what its `envFile` sets,
 * and the files that decide what its package runner runs.
 */
export type FoundFacts = Pick<DesiredServer, 'executable' | 'envFileNames' | 'folderFiles'>;

/** What begins the fields of files in the folder in which a server starts. */
export const folderField = 'folder/';

/** Lists every field that decides what would run, with a digest of its value. */
export function specFactsOf(spec: ServerSpec, found: FoundFacts = {}): readonly SpecFact[] {
  const values = valuesOf(spec, found);
  const secrets = secretsOf([
    ...(spec.type === 'stdio' ? secretsInArgs(spec.args) : []),
    ...values.flatMap(([field, value]) => [
      ...secretsInText(value),
      ...(field === 'proxy' ? proxySecrets(value) : []),
    ]),
  ]);
  return values.map(([field, value]) => ({
    field,
    shown: isKept(field, value) ? redact(withoutQuery(field, value), secrets) : '',
    digest: digestOf([field, value]),
  }));
}

/** Lists differences in the order of the present spec; removed facts come last. */
export function compareFacts(
  before: readonly SpecFact[],
  now: readonly SpecFact[],
): readonly ApprovalChange[] {
  const earlier = new Map(before.map((fact) => [fact.field, fact]));
  const present = new Set(now.map(({ field }) => field));
  return [
    ...now.flatMap(({ field, shown, digest }): ApprovalChange[] => {
      const old = earlier.get(field);
      if (old?.digest === digest) return [];
      return [{ field, ...(old === undefined ? {} : { before: old.shown }), now: shown }];
    }),
    ...before
      .filter(({ field }) => !present.has(field))
      .map(({ field, shown }) => ({ field, before: shown })),
  ];
}

function valuesOf(
  spec: ServerSpec,
  { executable, envFileNames, folderFiles = [] }: FoundFacts,
): readonly Value[] {
  const { type, era } = spec;
  const more: readonly Value[] = [
    ...rulesOf(spec),
    ...given('envFileNames', envFileNames?.join(', ')),
    ...folderFiles.map(({ path, digest }): Value => [`${folderField}${path}`, digest]),
    ['era', era],
  ];
  switch (spec.type) {
    case 'stdio':
      return [
        ['type', type],
        ['command', spec.command],
        ...given('executable', executable),
        ...spec.args.map((arg, index) => [`args[${index}]`, arg] as const),
        ...textsOf('env', spec.env),
        ['cwd', spec.cwd],
        ...more,
      ];
    case 'memory':
      return [['type', type], ['server', spec.server], ...more];
    case 'http':
    case 'sse':
    case 'ws':
      return [
        ['type', type],
        ['url', spec.url],
        ...textsOf('headers', spec.headers),
        ...reachTexts(spec),
        ...logInFacts(spec),
        ...more,
      ];
  }
}

/** The settings that decide values that are not known yet. */
function rulesOf(spec: ServerSpec): readonly Value[] {
  const { literal, envFile, inputs } = (spec.type === 'memory' ? undefined : spec.values) ?? {};
  const definitions = inputs?.definitions ?? [];
  return [
    ...given('values', literal && 'literal'),
    ...given('envFile', envFile?.path),
    ...definitions.map((input): Value => {
      const shown = JSON.stringify({ ...input, description: undefined });
      return [`inputs.${input.id}`, shown];
    }),
  ];
}

function given(field: string, value: string | undefined): readonly Value[] {
  return value === undefined ? [] : [[field, value]];
}

/** Returns whether a field's text may be kept. Variables, headers and inputs may hold any secret, and a digest says nothing. */
function isKept(field: string, value: string): boolean {
  if (isSecretField(field) || field.startsWith(folderField) || isPem(value)) return false;
  return !/^(?:(?:env|headers|inputs)\.|tls\.passphrase$)/u.test(field);
}

/** Redacts secrets in a URL's query. */
function withoutQuery(field: string, value: string): string {
  if (field !== 'url') return value;
  return value.replace(/([?&]([^=&#]*)=)[^&#]*/gu, (whole, head: string, key: string) =>
    looksSecret(key) ? `${head}[redacted]` : whole,
  );
}
